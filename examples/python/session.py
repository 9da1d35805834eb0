"""Gives an agent a task, and follows what it does until it rests. Where the connection breaks, the stream goes on."""

from berth import call, follow

agent = call("POST", "/agents/v1/agents", {"name": "greeter", "model": "berth/demo"})
try:
    # The built-in model follows a script; any other model would be told in words.
    message = {"type": "user.message", "content": [{"type": "text", "text": "!say Hello from Python."}]}
    session = call("POST", "/agents/v1/sessions", {"agent": agent["id"], "initial_events": [message]})
    for event in follow("/agents/v1/sessions/{id}/events/stream", {"replay": 1}, id=session["id"]):
        print(event["type"])
        if event["type"] == "agent.message":
            print("".join(block["text"] for block in event["content"]))
        if event["type"] == "session.status_idle":
            break
finally:
    call("DELETE", "/agents/v1/agents/{id}", id=agent["id"])  # and its sessions
