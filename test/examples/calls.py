"""Prints, as JSON, what the programs that are named on the command line call, and which fields they name. It runs none of them."""

import ast
import json
import sys

CALLS = {"call": ("method", "path", "body", "query"), "refused": ("method", "path", "body"), "follow": ("path", "query")}


def shape_of(node, names):
    """The keys of what is sent: dicts and lists stay, and everything else is null."""
    if isinstance(node, ast.Name) and node.id in names:
        return shape_of(names[node.id], names)
    if isinstance(node, ast.Dict):
        return {ast.literal_eval(key): shape_of(value, names) for key, value in zip(node.keys, node.values)}
    if isinstance(node, ast.List):
        return [shape_of(one, names) for one in node.elts]
    return None


def read(path):
    with open(path) as file:
        tree = ast.parse(file.read(), feature_version=(3, 9))  # the oldest Python that README.md names
    nodes = list(ast.walk(tree))
    names = {
        node.targets[0].id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    text_of = lambda node: names[node.id].value if isinstance(node, ast.Name) else node.value
    calls, documents, unread = [], [], 0
    for node in nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        if node.func.id == "graphql":
            documents.append(text_of(node.args[0]))
        if node.func.id not in CALLS:
            continue
        given = dict(zip(CALLS[node.func.id], node.args))
        more = {one.arg: one.value for one in node.keywords}
        given.update({name: more.pop(name) for name in ("body", "query") if name in more})
        if not isinstance(given["path"], ast.Constant):
            unread += 1
            continue
        calls.append(
            {
                "method": given["method"].value if "method" in given else "GET",
                "path": given["path"].value,
                "ids": sorted(more),
                "body": shape_of(given.get("body"), names),
                "query": shape_of(given.get("query"), names),
            }
        )
    fields = {
        node.slice.value
        for node in nodes
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    }
    return {"calls": calls, "documents": documents, "fields": sorted(fields), "unread": unread}


print(json.dumps({path.rsplit("/", 1)[-1]: read(path) for path in sys.argv[1:]}))
