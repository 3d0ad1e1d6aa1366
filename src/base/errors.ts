/**
 * Every error a person can meet, in one table. `says` is what happened to which thing, `next` is what to do about it,
 * `exit` is the exit code of the command that meets it, `http` the status of the route. docs/errors.md lists the same rows.
 */
export const ERRORS = {
  // input
  usage: { exit: 2, http: 400, says: '{problem}', next: 'See: pcc {command} --help' },
  command_unknown: { exit: 2, http: 400, says: '{problem}', next: 'See all commands with: pcc --help' },
  bad_request: {
    exit: 2,
    http: 400,
    says: 'The request to {route} is not valid: {problem}',
    next: 'Correct the named field and send it again.',
  },
  project_missing: {
    exit: 2,
    http: 400,
    says: 'The project path {path} does not exist.',
    next: 'Give the path of an existing directory.',
  },
  project_not_directory: {
    exit: 2,
    http: 400,
    says: 'The project path {path} is not a directory.',
    next: 'Give the directory that holds the project.',
  },
  task_empty: {
    exit: 2,
    http: 400,
    says: 'The task is empty.',
    next: 'Say what to do: --task "…" or --requirements FILE.',
  },
  requirements_unreadable: {
    exit: 2,
    http: 400,
    says: 'The requirements file {path} cannot be read: {problem}',
    next: 'Check the path and its permissions.',
  },
  requirements_binary: {
    exit: 2,
    http: 400,
    says: 'The requirements file {path} is not text.',
    next: 'Give a Markdown, YAML or plain text file in UTF-8.',
  },
  requirements_empty: {
    exit: 2,
    http: 400,
    says: 'The requirements file {path} is empty.',
    next: 'Write into it what is to be done.',
  },
  session_unknown: { exit: 2, http: 404, says: 'There is no session "{ref}".', next: 'See them with: pcc list' },
  session_ambiguous: { exit: 2, http: 409, says: '"{ref}" could be any of {matches}.', next: 'Type more of the id.' },
  session_over: {
    exit: 2,
    http: 409,
    says: 'Session {id} is over ({status}).',
    next: 'Go on with it: pcc resume {id}, or give it something new: pcc add {id} "…"',
  },
  resume_invalid: {
    exit: 2,
    http: 400,
    says: '"{vendor_id}" is not the id of a conversation of Claude Code.',
    next: 'See the conversations there are with: pcc agents sessions {project}',
  },
  record_unwritable: {
    exit: 2,
    http: 400,
    says: 'The recording {path} cannot be written: {problem}',
    next: 'Give a file in an existing directory that you may write to. Nothing was started.',
  },
  account_differs: {
    exit: 2,
    http: 409,
    says: 'Session {id} was started with another login or another address of the API than this shell has. The question is still open.',
    next: 'Answer from a shell with the same variables (ANTHROPIC_*, CLAUDE_CODE_*, CLAUDE_CONFIG_DIR), or go on with this login: pcc stop {id}, then pcc start {project} --resume {vendor_id} --task "…"',
  },
  conversation_live: {
    exit: 2,
    http: 409,
    says: 'The conversation {vendor_id} is in use by a session that has not ended ({id}): two would mix in it.',
    next: 'Wait for it or stop it with: pcc stop {id}. Or go on with a copy: add --fork',
  },
  session_running: {
    exit: 2,
    http: 409,
    says: 'Session {id} is at work already.',
    next: 'Watch it with: pcc attach {id}',
  },
  nothing_to_retry: {
    exit: 2,
    http: 409,
    says: 'Nothing of session {id} has failed; it is {status}.',
    next: 'Go on with it: pcc resume {id}',
  },
  session_complete: {
    exit: 2,
    http: 409,
    says: 'Session {id} is complete and nothing is left in its queue.',
    next: 'Give it something to do with: pcc add {id} "…"',
  },
  session_waits_for_answer: {
    exit: 2,
    http: 409,
    says: 'Session {id} waits for your answer; it goes on by itself when it has it.',
    next: 'See it with: pcc pending, then: pcc respond {number}',
  },
  checkpoint_unknown: {
    exit: 2,
    http: 404,
    says: 'Session {id} has no usable checkpoint "{checkpoint}".{problem}',
    next: 'See them with: pcc checkpoints {id}',
  },
  session_queued: {
    exit: 2,
    http: 409,
    says: 'Session {id} waits for a free place; it has no agent yet.',
    next: 'Wait, or stop it with: pcc stop {id}',
  },
  ask_unknown: {
    exit: 2,
    http: 404,
    says: 'Session {id} has no open question {ask}: it was answered or withdrawn.',
    next: 'Nothing to do.',
  },
  escalation_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no decision {number}.',
    next: 'See what waits with: pcc pending',
  },
  escalation_answered: {
    exit: 2,
    http: 409,
    says: 'Decision {number} was {verdict} by {by} on {when}; the first answer counts.',
    next: 'See what still waits with: pcc pending',
  },
  escalation_withdrawn: {
    exit: 2,
    http: 409,
    says: 'Decision {number} needs no answer any more since {when}: {reason}',
    next: 'See what still waits with: pcc pending',
  },
  answer_unfit: {
    exit: 2,
    http: 400,
    says: 'Decision {number} was not answered: {problem}',
    next: 'See what is asked with: pcc pending',
  },
  agent_answers: {
    exit: 3,
    http: 403,
    says: 'This runs inside a session, and an agent cannot decide for a person. Nothing was changed.',
    next: 'Do it from a terminal of your own: pcc {command}',
  },
  // tasks
  task_unknown: {
    exit: 2,
    http: 404,
    says: 'Session {session} has no task "{ref}".',
    next: 'It has: {known}',
  },
  task_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" could be any of {matches}.',
    next: 'Type more of it, or the id.',
  },
  task_cancelled: {
    exit: 2,
    http: 409,
    says: 'Task {id} ({title}) was cancelled: what comes after it would never run.',
    next: 'Leave it out of --after. Nothing was changed.',
  },
  task_cycle: {
    exit: 2,
    http: 409,
    says: 'Task {id} cannot come after {blocker}: {path} would wait for itself for ever.',
    next: 'Leave one of these out. Nothing was changed.',
  },
  task_moved: {
    exit: 1,
    http: 409,
    says: 'Task {id} is {state} (attempt {attempt}) by now: somebody else was first.',
    next: 'Look again with: pcc status {session}',
  },
  task_move_refused: {
    exit: 2,
    http: 409,
    says: 'Task {id} is {from} and cannot become {to}.',
    next: 'Look at it with: pcc status {session}',
  },
  task_at_work: {
    exit: 2,
    http: 409,
    says: 'Task {id} is being worked on, so it cannot be taken out of the queue.',
    next: 'Stop the work on it with: pcc stop {session}',
  },
  account_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no account "{ref}".',
    next: 'See them with: pcc quota',
  },
  account_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" could be any of {matches}.',
    next: 'Type more of the id.',
  },
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
    next: 'Keep a copy of it, then move it away or put a backup in its place.',
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
  agent_missing: {
    exit: 1,
    http: 500,
    says: 'Claude Code cannot be started: {problem}',
    next: 'Reinstall pcc with its optional dependencies: npm i -g perpetualcc --include=optional',
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
    says: 'Claude Code is not logged in.',
    next: 'Log in with: pcc agents login. Or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN before pcc start.',
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
} as const satisfies Record<string, { exit: number; http: number; says: string; next: string }>

export type ErrorCode = keyof typeof ERRORS

type Holes<Text extends string> = Text extends `${string}{${infer Hole}}${infer Rest}` ? Hole | Holes<Rest> : never
type Detail<Code extends ErrorCode> = Record<
  Holes<(typeof ERRORS)[Code]['says'] | (typeof ERRORS)[Code]['next']>,
  string | number
>

/** The one error class: branch on `code`, never on the text. */
export class AppError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code
  readonly detail: Record<string, string | number>
  readonly next: string

  constructor(code: Code, detail: Detail<Code>, cause?: unknown) {
    super(fill(ERRORS[code].says, detail), cause === undefined ? undefined : { cause })
    this.name = 'AppError'
    this.code = code
    this.detail = detail
    this.next = fill(ERRORS[code].next, detail)
  }

  get exit(): number {
    return ERRORS[this.code].exit
  }

  get http(): number {
    return ERRORS[this.code].http
  }
}

/** The words of anything thrown, on one line. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** For the end of a switch over a union: the compiler proves that nothing reaches it. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}

function fill(template: string, detail: Record<string, string | number>): string {
  return template.replace(/\{(\w+)\}/g, (hole, name: string) => (name in detail ? String(detail[name]) : hole))
}
