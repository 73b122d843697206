"""Tags and parses texts, and keeps the results; imports texts and base."""
