import type { ErrorRow } from './system.ts'

/** Errors of stored secrets. */
export const SECRET_ERRORS = {
  secret_invalid: {
    exit: 2,
    http: 400,
    says: 'The secret {name} cannot be stored: {problem}.',
    next: 'Correct that; nothing was changed.',
  },
  secret_missing: {
    exit: 2,
    http: 404,
    says: 'There is no secret {name}.',
    next: 'See all with: pcc secrets list',
  },
  secret_for_agent: {
    exit: 1,
    http: 409,
    says: '{agent} gets {variable} from the secret {name} (agents.secret_env), which cannot be read: {problem}',
    next: 'Mend that, and see that it can be read: pcc secrets list --check',
  },
  secrets_unreadable: {
    exit: 2,
    http: 409,
    says: 'The file of secrets {file} cannot be used: {problem}.',
    next: 'Mend that, or move the file away and set the secrets again. Nothing was changed.',
  },
  secrets_newer: {
    exit: 5,
    http: 409,
    says: 'The file of secrets {file} has version {found}, and this pcc knows up to {known}.',
    next: 'Use the newer pcc. Nothing was changed.',
  },
  secrets_locked: {
    exit: 3,
    http: 409,
    says: 'The file of secrets is locked: its passphrase is not known here.',
    next: 'Give it with: pcc secrets unlock',
  },
  secrets_unlocked: {
    exit: 2,
    http: 409,
    says: 'The file of secrets has no passphrase: a key file opens it.',
    next: 'Nothing to do.',
  },
  secrets_wrong_key: {
    exit: 2,
    http: 403,
    says: '{problem}',
    next: 'Try again with the right one; nothing was changed.',
  },
  keyring_failed: {
    exit: 1,
    http: 409,
    says: 'The keyring cannot be used: {problem}.',
    next: 'Unlock it and try again, or use the encrypted file: pcc config set secrets.store file',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of the service that keeps the daemon running. */
export const SERVICE_ERRORS = {
  service_unavailable: {
    exit: 3,
    http: 409,
    says: 'A service cannot be used here: {problem}.',
    next: 'What to do: {way}',
  },
  service_missing: {
    exit: 2,
    http: 404,
    says: 'No service is installed for {home}.',
    next: 'Install it with: pcc service install',
  },
  service_failed: {
    exit: 1,
    http: 409,
    says: '{command} failed: {problem}.',
    next: 'See: pcc service status, pcc service logs',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of agents that run in a tmux terminal. */
export const HOST_ERRORS = {
  tmux_missing: {
    says: 'tmux is not installed, and an agent in a terminal of its own needs it.',
    next: 'Install it (Debian and Ubuntu: apt install tmux; Fedora: dnf install tmux; macOS: brew install tmux), or leave out --host tmux.',
    exit: 1,
    http: 409,
  },
  tmux_failed: {
    says: 'tmux refused a command: {problem}',
    next: 'Try it again, or leave out --host tmux.',
    exit: 1,
    http: 502,
  },
  resume_missing: {
    says: 'Claude Code does not know the conversation {vendor_id}: its record is {state}.',
    next: 'See all conversations with: pcc agents sessions. Or start a new one without --resume.',
    exit: 1,
    http: 409,
  },
  not_in_terminal: {
    says: 'Session {id} has no terminal to hand over: {problem}.',
    next: 'Start a session with a terminal: pcc start <project> --host tmux. Steer other sessions with pcc attach, pause and stop.',
    exit: 1,
    http: 409,
  },
  terminal_taken: {
    says: 'A person has taken over the terminal of session {id}, so pcc types nothing there: nothing was sent or interrupted.',
    next: 'Do it in that terminal: pcc attach {id} (Escape interrupts). Or hand it back first: pcc handback {id}',
    exit: 1,
    http: 409,
  },
  terminal_asks: {
    says: 'The terminal of session {id} shows a question that nobody would answer after the handback.',
    next: 'Answer it there (pcc attach {id}; Escape says no), then hand back. Or end the session: pcc stop {id}',
    exit: 1,
    http: 409,
  },
  terminal_command: {
    says: 'pcc types no commands into the terminal of session {id}, so {command} was not sent.',
    next: 'Type it yourself: pcc takeover {id}, type {command}, then pcc handback {id}. If the session is over: pcc resume {id}',
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

/** Errors of a project's notes. */
export const NOTE_ERRORS = {
  note_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no note "{ref}" in {folder}.',
    next: 'Name a note by its file or title, or a unique beginning of either. See all notes with: pcc notes',
  },
  note_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" matches several notes: {matches}.',
    next: 'Type more of the name.',
  },
  note_refused: {
    exit: 2,
    http: 400,
    says: 'The note "{title}" was not saved: {why}.',
    next: 'What a note may contain: pcc docs journal',
  },
  note_broken: {
    exit: 2,
    http: 400,
    says: '{file} is not a valid note: {problem}. It is ignored until it is corrected.',
    next: 'Correct it with: pcc notes edit {file}',
  },
  editor_failed: {
    exit: 2,
    http: 400,
    says: 'The editor ({editor}) could not be used: {problem}.',
    next: 'Name another editor in $EDITOR, or edit the file yourself: {file}',
  },
  code_search_failed: {
    says: 'The code of {project} could not be searched: {problem}.',
    next: 'Try again. If it happens again, make the index anew: pcc index --rebuild',
    exit: 1,
    http: 500,
  },
  code_name_unknown: {
    says: 'The index of {project} has no file and no definition named {name}.',
    next: 'Search for it: pcc search <words>. A path is relative to the project.',
    exit: 2,
    http: 404,
  },
  code_search_off: {
    says: 'The code of {project} is not indexed: knowledge.enabled is false.',
    next: 'Switch it on: pcc config set knowledge.enabled true',
    exit: 2,
    http: 409,
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of memory. */
export const MEMORY_ERRORS = {
  memory_newer: {
    exit: 5,
    http: 500,
    says: 'The memory {file} was written by a newer pcc (version {found}, this program knows {known}). It was left untouched.',
    next: 'Use the newer pcc, or name another folder in AI_MEMORY_PATH.',
  },
  memory_unwritable: {
    exit: 1,
    http: 507,
    says: 'The memory in {folder} cannot be written: {problem}',
    next: 'Make room, or correct the permissions, and try again: nothing is stored twice.',
  },
  memory_unknown: {
    exit: 2,
    http: 404,
    says: 'There is nothing in memory with the id {id}.',
    next: 'List what there is with: pcc memory search',
  },
  memory_foreign: {
    exit: 2,
    http: 403,
    says: 'The folder of the memory, {folder}, belongs to another user.',
    next: 'Set HOME to your own home, or AI_MEMORY_PATH to a folder of your own.',
  },
} as const satisfies Record<string, ErrorRow>
