"""usage: validate.py SCHEMA FILE
Exits with 0 if FILE is JSON that SCHEMA, a JSON Schema, allows."""

import json
import sys

import jsonschema


def main(schema_path, path):
    with open(schema_path, encoding="utf-8") as schema, open(path, encoding="utf-8") as file:
        jsonschema.validate(json.load(file), json.load(schema))


main(*sys.argv[1:])
