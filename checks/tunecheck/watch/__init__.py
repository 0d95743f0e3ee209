"""A served box, looked at while it serves: does the engine still give tokens, and can its GPUs still work?

Reading (loop.py, and host/), judging (judge.py) and telling (tell.py) are apart. Nothing here changes the box."""
