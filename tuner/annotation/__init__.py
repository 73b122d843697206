"""Tags and parses texts, and keeps what was said; imports texts and the floor below the rooms."""
