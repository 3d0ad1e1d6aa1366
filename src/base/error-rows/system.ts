/** One error: its exit code, its HTTP status, what it says and what to do next. */
export interface ErrorRow {
  exit: number
  http: number
  says: string
  next: string
}

/** What goes wrong around them: settings, store, daemon, agents, simulator. */
export const SYSTEM_ERRORS = {
  // config and trust
  config_invalid: {
    exit: 2,
    http: 400,
    says: '{file}:{line}: {key}: {problem}',
    next: 'Correct that line; nothing was changed.',
  },
  config_unknown_key: {
    exit: 2,
    http: 400,
    says: 'There is no setting "{key}"{suggestion}',
    next: 'See them with: pcc config show',
  },
  config_ambiguous_key: {
    exit: 2,
    http: 400,
    says: '"{key}" could be any of {matches}.',
    next: 'Give the full name.',
  },
  config_unreadable: {
    exit: 2,
    http: 400,
    says: 'The config file {file} cannot be read: {problem}',
    next: 'Correct the path or its permissions; nothing was changed.',
  },
  config_not_edited: {
    exit: 2,
    http: 400,
    says: '{file} is written in a way that cannot be edited safely for {key}.',
    next: 'Edit the file by hand; nothing was changed.',
  },
  setting_invalid: {
    exit: 2,
    http: 400,
    says: '{origin}: {key}: {problem}',
    next: 'Give a value of that kind; nothing was changed.',
  },
  confirmation_needed: {
    exit: 3,
    http: 400,
    says: '{action} needs your yes, and nobody can be asked here.',
    next: 'Run it in a terminal, or add --yes. Nothing was changed.',
  },
  not_confirmed: {
    exit: 3,
    http: 400,
    says: '{action} was not confirmed. Nothing was changed.',
    next: 'Nothing to do.',
  },
  brain_input_missing: {
    exit: 2,
    http: 400,
    says: 'Setting up {kind} needs {what}, and it was not given.',
    next: 'Give {how}, or run it in a terminal to be asked. Nothing was changed.',
  },
  brain_unusable: {
    exit: 1,
    http: 400,
    says: '{kind} cannot be used: {problem}',
    next: 'Mend that and try again, or add --no-test to write it down unchecked. Nothing was changed.',
  },
  trust_refused: {
    exit: 3,
    http: 400,
    says: '{path} of {project} cannot be agreed to: {problem} ({target}).',
    next: 'Replace it by a plain file of the project. Nothing was changed.',
  },
  trust_changed: {
    exit: 3,
    http: 409,
    says: 'The files of {project} changed while they were shown: {files}.',
    next: 'Look again with: pcc trust {project}',
  },
  trust_file_invalid: {
    exit: 2,
    http: 500,
    says: 'The trust file {file} is not valid: {problem}',
    next: 'Move it away and agree again with: pcc trust PATH. Nothing was changed.',
  },
  rules_invalid: {
    exit: 2,
    http: 400,
    says: '{file}:{line}: {problem}',
    next: 'Correct that line. Until then the last good rules are in force; where there are none, everything asks.',
  },
  rules_not_edited: {
    exit: 2,
    http: 400,
    says: '{file} is written in a way that cannot be edited safely.',
    next: 'Edit the file by hand; nothing was changed.',
  },
  rule_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no rule {number} in {file}.',
    next: 'See them with: pcc rules list',
  },
  config_newer: {
    exit: 5,
    http: 500,
    says: '{file} was written for a newer pcc (version {found}, this program knows {known}).',
    next: 'Update pcc: npm i -g perpetualcc',
  },
  // store
  store_newer: {
    exit: 5,
    http: 500,
    says: 'The database {file} was written by a newer pcc (schema {found}, this program knows {known}). It was left untouched.',
    next: 'Update pcc: npm i -g perpetualcc',
  },
  store_unreleased: {
    exit: 5,
    http: 500,
    says: 'The database {file} was made by a version of pcc that was never released (schema {found}; the first one is {first}). It was left untouched.',
    next: 'Move it away to begin with an empty one, or give another --data-dir.',
  },
  store_foreign: {
    exit: 1,
    http: 500,
    says: 'The file {file} is not a database of pcc: {problem}. It was left untouched.',
    next: 'Move it away, or give another --data-dir.',
  },
  store_damaged: {
    exit: 1,
    http: 500,
    says: 'The database {file} is damaged: {problem}',
    next: 'Rebuild what can be read with: pcc doctor --repair (the damaged file is kept)',
  },
  data_directory_unusable: {
    exit: 1,
    http: 500,
    says: 'The data directory {dir} cannot be used: {problem}',
    next: 'Name a directory that you may write to with --data-dir, PCC_DATA_DIRECTORY or data.directory.',
  },
  store_unusable: {
    exit: 1,
    http: 500,
    says: 'The database {file} cannot be used: {problem}',
    next: 'Free disk space or correct the permissions, then try again.',
  },
  disk_full: {
    exit: 1,
    http: 507,
    says: 'Nothing new is started: {reason}',
    next: 'Free some space or make the directory writable; what waits for it goes on by itself. See: pcc doctor',
  },
  // daemon
  daemon_unreachable: {
    exit: 1,
    http: 503,
    says: 'The daemon for {home} did not come up: {problem}',
    next: 'See: pcc daemon logs',
  },
  daemon_running: {
    exit: 1,
    http: 409,
    says: 'A daemon for {home} is already running (pid {pid}).',
    next: 'Nothing to do; stop it with: pcc daemon stop',
  },
  daemon_silent: {
    exit: 1,
    http: 503,
    says: 'The daemon for {home} (pid {pid}) gives no answer within {seconds} s: it was stopped, or hangs.',
    next: 'Wake it with: kill -CONT {pid}. If that does not help, end it with: kill -9 {pid}; its sessions go on with the next command.',
  },
  socket_occupied: {
    exit: 1,
    http: 500,
    says: 'The socket path {path} is occupied by something that is not our socket.',
    next: 'Look at it, move it away and try again.',
  },
  daemon_stopping: { exit: 1, http: 503, says: 'The daemon is shutting down.', next: 'Try again in a moment.' },
  daemon_gone: {
    exit: 1,
    http: 503,
    says: 'The daemon went away while session {id} was watched.',
    next: 'Why: pcc daemon logs. What became of the session: pcc status {id}',
  },
  unauthorized: {
    exit: 1,
    http: 401,
    says: 'The token is missing or wrong.',
    next: 'Use the same PCC_HOME and --data-dir as the daemon.',
  },
  wrong_host: {
    exit: 1,
    http: 421,
    says: 'The Host header {host} is not this daemon.',
    next: 'Talk to the socket with Host: pcc',
  },
  not_found: {
    exit: 2,
    http: 404,
    says: 'There is no route {route}.',
    next: 'Client and daemon may differ in version: pcc daemon restart',
  },
  output_failed: {
    exit: 1,
    http: 500,
    says: 'What was to be printed cannot be written: {problem}',
    next: 'Print it somewhere else. Sessions go on: pcc list',
  },
  internal: { exit: 1, http: 500, says: 'Something went wrong inside pcc: {problem}', next: 'See: pcc daemon logs' },
  // agents
  sandbox_missing: {
    exit: 2,
    http: 409,
    says: '{agent} has to run in a sandbox, and there is none: {problem}.',
    next: '{install} Or choose an agent that is held to every call: pcc agents list',
  },
  sandbox_project: {
    exit: 2,
    http: 409,
    says: '{project} cannot be opened in a sandbox: {hidden}, which is hidden there, lies in what would be shown.',
    next: 'Work in a folder below it, or take the folder that holds it from agents.sandbox_read and agents.sandbox_write.',
  },
  sandbox_link: {
    exit: 2,
    http: 409,
    says: '{path} is a link, and in a sandbox an agent could put another in its place.',
    next: 'Put what it leads to there itself, or let the agent run without a sandbox: agents.sandbox = "off".',
  },
  agent_missing: {
    exit: 1,
    http: 500,
    says: '{agent} cannot be started: {problem}',
    next: 'How to get it: {install}. See what is there with: pcc agents doctor',
  },
  agent_path_wrong: {
    exit: 2,
    http: 400,
    says: 'The setting agents.path ({origin}) names {path}, which cannot be run: {problem}',
    next: 'Correct it, or take it away with: pcc config reset agents.path. Nothing was started.',
  },
  agent_not_logged_in: {
    exit: 1,
    http: 400,
    says: '{agent} is not logged in.',
    next: 'Log in with: {login}. Or set {variables} before pcc start.',
  },
  // simulator
  scenario_invalid: {
    exit: 2,
    http: 400,
    says: '{file}:{line}: {key}: {problem}',
    next: 'Correct the scenario; docs/simulator.md lists every key.',
  },
  scenario_unreadable: {
    exit: 2,
    http: 400,
    says: 'The scenario {file} cannot be read: {problem}',
    next: 'Check the path.',
  },
  port_taken: {
    exit: 1,
    http: 500,
    says: 'Port {port} on 127.0.0.1 is taken.',
    next: 'Give another one, or --port 0 for a free one.',
  },
} as const satisfies Record<string, ErrorRow>

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
