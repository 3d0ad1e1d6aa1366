import type { ErrorRow } from './error-row.ts'

/** Agents in a terminal of their own. */
export const HOST_ERRORS = {
  tmux_missing: {
    says: 'tmux is not installed: an agent in a terminal of its own needs it.',
    next: 'Install it (Debian and Ubuntu: apt install tmux; Fedora: dnf install tmux; macOS: brew install tmux), or leave out --host tmux.',
    exit: 1,
    http: 409,
  },
  tmux_failed: {
    says: 'tmux did not do what it was told: {problem}',
    next: 'Try it again, or leave out --host tmux.',
    exit: 1,
    http: 502,
  },
  resume_missing: {
    says: 'Claude Code does not know the conversation {vendor_id}: its record is {state}.',
    next: 'See the conversations that there are: pcc agents sessions. Or start anew, without --resume.',
    exit: 1,
    http: 409,
  },
  hook_refused: {
    says: 'No agent of this daemon is called {session}, or it does not say the word that was given to it.',
    next: 'Look at what runs: pcc list. The call of the agent was refused.',
    exit: 1,
    http: 403,
  },
  not_in_terminal: {
    says: 'Session {id} has no terminal that could be handed over: {problem}.',
    next: 'Start one that has: pcc start <project> --host tmux. Steer the others with pcc attach, pause and stop.',
    exit: 1,
    http: 409,
  },
  terminal_taken: {
    says: 'A person has the terminal of session {id}: pcc presses no key there, so nothing was said or interrupted.',
    next: 'Do it there: pcc attach {id} (Escape interrupts). Or give it back first: pcc handback {id}',
    exit: 1,
    http: 409,
  },
  terminal_asks: {
    says: 'The terminal of session {id} shows a question of its agent, which nobody would answer any more.',
    next: 'Answer it there (pcc attach {id}; Escape says no), then hand back. Or end it: pcc stop {id}',
    exit: 1,
    http: 409,
  },
  terminal_command: {
    says: 'pcc types no commands into the terminal of session {id}: {command} was not given.',
    next: 'Give it there: pcc takeover {id}, type {command}, then pcc handback {id}. If the session is over: pcc resume {id}',
    exit: 1,
    http: 409,
  },
  host_cannot: {
    says: '{agent} cannot work in a terminal of its own: {problem}.',
    next: 'Leave out --host tmux.',
    exit: 2,
    http: 400,
  },
} as const satisfies Record<string, ErrorRow>
