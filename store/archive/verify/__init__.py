"""Is a store directory sound?"""
