import json

text = json.dumps([{"number": i, "name": f"item {i}", "more": [i, str(i)]} for i in range(30000)])
for _ in range(5):
    total = sum(len(item["name"]) for item in json.loads(text))
print(total)
