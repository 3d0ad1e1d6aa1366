/** One error: its exit code, its HTTP status, what it says and what to do next. */
export interface ErrorRow {
  exit: number
  http: number
  says: string
  next: string
}

/** Errors of settings, store, daemon, agent programs and simulator. */
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
    next: 'See all settings with: pcc config show',
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
    says: '{key} cannot be edited safely in {file}, because of the way the file is written.',
    next: 'Edit the file by hand; nothing was changed.',
  },
  setting_not_of_projects: {
    exit: 2,
    http: 400,
    says: 'The file of a project may not set {key}: it belongs to you and not to a project.',
    next: 'Set it for all projects, without --project: pcc config set {key} …',
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
    says: '{action} needs your confirmation, and there is no terminal to ask in.',
    next: 'Run it in a terminal, or add --yes. Nothing was changed.',
  },
  not_confirmed: {
    exit: 3,
    http: 400,
    says: '{action} was not confirmed. Nothing was changed.',
    next: 'Nothing to do.',
  },
  hooks_file: {
    exit: 2,
    http: 400,
    says: 'The settings {file} cannot be changed: {problem}.',
    next: 'Mend that and run the command again; nothing was changed there.',
  },
  hooks_record: {
    exit: 2,
    http: 400,
    says: 'The record of installed hooks {file} cannot be read: {problem}.',
    next: 'Move it away; pcc hooks uninstall then takes out what it recognises by its path.',
  },
  hooks_no_agent: {
    exit: 2,
    http: 400,
    says: 'No agent was found here: neither its program on the PATH nor its folder.',
    next: 'Name one: pcc hooks install --claude',
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
    next: 'Correct that and try again, or add --no-test to save it unchecked. Nothing was changed.',
  },
  trust_refused: {
    exit: 3,
    http: 400,
    says: '{path} in {project} cannot be trusted: {problem} ({target}).',
    next: 'Replace it with an ordinary file inside the project. Nothing was changed.',
  },
  trust_changed: {
    exit: 3,
    http: 409,
    says: 'Files of {project} changed while they were shown: {files}.',
    next: 'Review them again with: pcc trust {project}',
  },
  file_changed: {
    exit: 3,
    http: 409,
    says: '{file} was changed outside pcc since you last accepted it.',
    next: 'See the difference and accept it, or put the file back: pcc accept. Nothing was changed.',
  },
  trust_file_invalid: {
    exit: 2,
    http: 500,
    says: 'The trust file {file} is not valid: {problem}',
    next: 'Move it away and trust your projects again with: pcc trust PATH. Nothing was changed.',
  },
  rules_invalid: {
    exit: 2,
    http: 400,
    says: '{file}:{line}: {problem}',
    next: 'Correct that line. Until then the last valid rules apply; without any, every call asks.',
  },
  rules_not_edited: {
    exit: 2,
    http: 400,
    says: '{file} cannot be edited safely, because of the way it is written.',
    next: 'Edit the file by hand; nothing was changed.',
  },
  rule_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no rule {number} in {file}.',
    next: 'See all rules with: pcc rules list',
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
    next: 'Move it away to start with an empty database, or give another --data-dir.',
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
    next: 'Free some space or make the directory writable; sessions that wait for it then continue by themselves. See: pcc doctor',
  },
  // daemon
  daemon_unreachable: {
    exit: 1,
    http: 503,
    says: 'The daemon for {home} did not start: {problem}',
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
    says: 'The daemon for {home} (pid {pid}) did not answer within {seconds} s: it was stopped, or it hangs.',
    next: 'Wake it with: kill -CONT {pid}. If that does not help, end it with: kill -9 {pid}; the next command resumes its sessions.',
  },
  socket_occupied: {
    exit: 1,
    http: 500,
    says: 'The socket path {path} is occupied by something that is not a socket of pcc.',
    next: 'Check what it is, move it away and try again.',
  },
  daemon_stopping: { exit: 1, http: 503, says: 'The daemon is shutting down.', next: 'Try again in a moment.' },
  daemon_gone: {
    exit: 1,
    http: 503,
    says: 'The daemon ended while session {id} was being watched.',
    next: 'See why with: pcc daemon logs. See what happened to the session with: pcc status {id}',
  },
  unauthorized: {
    exit: 1,
    http: 401,
    says: 'The token is missing or wrong.',
    next: 'Use the same PCC_HOME and --data-dir as the daemon.',
  },
  speaker_refused: {
    exit: 1,
    http: 403,
    says: 'Only a person may do this ({what}), and {command} (pid {pid}) was started by an agent or by the daemon.',
    next: 'Do it from a terminal of your own. pcc pending lists who tried.',
  },
  speaker_gone: {
    exit: 1,
    http: 403,
    says: 'Whoever asked for this ({what}) is gone or belongs to another user, so nobody can say that it was a person.',
    next: 'Send it again, as the user who runs the daemon, and wait for the answer.',
  },
  speaker_unknown: {
    exit: 1,
    http: 403,
    says: 'The daemon cannot tell whether a person asks ({why}), so a HIGH request is not approved this way.',
    next: 'Answer it in a channel that you set up (pcc notify), or install iproute2.',
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
    next: 'If client and daemon have different versions: pcc daemon restart. The routes for other programs: pcc docs api',
  },
  output_failed: {
    exit: 1,
    http: 500,
    says: 'The output cannot be written: {problem}',
    next: 'Send the output somewhere else. Sessions continue; see them with: pcc list',
  },
  internal: { exit: 1, http: 500, says: 'Something went wrong inside pcc: {problem}', next: 'See: pcc daemon logs' },
  // agents
  sandbox_missing: {
    exit: 2,
    http: 409,
    says: '{agent} has to run in a sandbox, and none is available: {problem}.',
    next: '{install} Or let it run without one: pcc config set agents.sandbox auto',
  },
  sandbox_failed: {
    exit: 1,
    http: 503,
    says: 'A sandbox could be made before, and cannot be made now: {problem}.',
    next: 'Nothing is started without it. See whether memory, processes or the disk are used up, and try again.',
  },
  sandbox_project: {
    exit: 2,
    http: 409,
    says: '{project} cannot be opened in a sandbox: {hidden} must stay hidden, and it lies in a folder that the sandbox would show.',
    next: 'Work in a folder below it, or remove the folder that holds it from agents.sandbox_read and agents.sandbox_write.',
  },
  sandbox_git: {
    exit: 2,
    http: 409,
    says: '{path} is not the repository of its folder: {problem}.',
    next: 'Repair or remove it; an agent may have changed it. If you keep the repository elsewhere yourself, let it name its checkout, once: git config core.worktree "$PWD"',
  },
  sandbox_folder: {
    exit: 2,
    http: 409,
    says: 'A sandbox cannot be made: {path} cannot be used ({problem}).',
    next: '{remedy}',
  },
  sandbox_include: {
    exit: 2,
    http: 409,
    says: '{file} includes {included}, which does not exist: an agent could write there which programs git runs.',
    next: 'Create the file, or remove the include from the settings.',
  },
  sandbox_hooks: {
    exit: 2,
    http: 409,
    says: '{folder} is where git looks for hooks (core.hooksPath) and all that an agent works in: it could write there what your next commit runs.',
    next: 'Give the hooks a folder of their own: git config core.hooksPath .githooks',
  },
  sandbox_link: {
    exit: 2,
    http: 409,
    says: '{path} is a link, which an agent in a sandbox could replace with another one.',
    next: 'Replace the link with the file or folder it leads to, or let the agent run without a sandbox: agents.sandbox = "off".',
  },
  agent_missing: {
    exit: 1,
    http: 500,
    says: '{agent} cannot be started: {problem}',
    next: 'How to get it: {install}. See which agents are installed with: pcc agents doctor',
  },
  agent_path_wrong: {
    exit: 2,
    http: 400,
    says: 'The setting agents.path ({origin}) names {path}, which cannot be run: {problem}',
    next: 'Correct it, or remove it with: pcc config reset agents.path. Nothing was started.',
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
    next: 'Correct the scenario; every key: pcc docs simulator',
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
