CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
  INSERT INTO person SELECT i, 'person number ' || i, i % 90 FROM n;
CREATE INDEX person_by_age ON person(age, name);
SELECT count(*), max(upper(name)) FROM person WHERE age BETWEEN 10 AND 79 GROUP BY age;
