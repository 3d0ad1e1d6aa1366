import type { ErrorRow } from './error-row.ts'

/** What goes wrong between a person and their sessions. */
export const WORK_ERRORS = {
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
  budget_spent: { exit: 4, http: 409, says: '{reason}.', next: '{remedy}' },
  line_full: {
    exit: 4,
    http: 429,
    says: 'No more sessions may wait for a free place: {waiting} do already (sessions.max_waiting).',
    next: 'Wait until some are done, stop one with pcc stop <session>, or raise it: pcc config set sessions.max_waiting {raised}',
  },
  budget_untouched: {
    exit: 1,
    http: 404,
    says: 'Nothing was spent in {project} since its budget was last reset.',
    next: 'See what is counted with: pcc budget',
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
    says: 'Session {id} was started with another login or another address of the API than this shell has. Nothing was changed.',
    next: 'Do it from a shell with the same variables (ANTHROPIC_*, CLAUDE_CODE_*, CLAUDE_CONFIG_DIR), or go on with this login: pcc stop {id}, then pcc start {project} --resume {vendor_id} --task "…"',
  },
  conversation_live: {
    exit: 2,
    http: 409,
    says: 'The conversation {vendor_id} is in use by a session that has not ended ({id}): two would mix in it.',
    next: 'Wait for it or stop it with: pcc stop {id}. Or go on with a copy: add --fork',
  },
  session_taken_over: {
    exit: 1,
    http: 409,
    says: 'Session {id} was taken up by another daemon; this one has no say in it any more.',
    next: 'See who runs it with: pcc status {id}',
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
    next: 'Go on with it: pcc resume {id}, or give it something new: pcc add {id} "…"',
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
} as const satisfies Record<string, ErrorRow>
