"""Runs Python once in a fresh microVM, which deletes itself a minute later."""

from berth import call

sandbox = call("POST", "/api/v1/vms/sandbox", {"language": "python", "code": "print(sum(range(10)))", "ttl": 60})
print(sandbox["command"]["stdout"], end="")
