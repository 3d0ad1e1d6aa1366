import type { ErrorRow } from './system.ts'

/** Errors of sessions, projects and accounts. */
export const WORK_ERRORS = {
  usage: { exit: 2, http: 400, says: '{problem}', next: 'See: pcc {command} --help' },
  command_unknown: { exit: 2, http: 400, says: '{problem}', next: 'See all commands with: pcc --help' },
  bad_request: {
    exit: 2,
    http: 400,
    says: '{problem}',
    next: 'Correct that and try again. Nothing was changed.',
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
  project_too_wide: {
    exit: 2,
    http: 400,
    says: '{path} is {what}, which is hardly a single project. Nothing was changed.',
    next: 'Name the directory of a project, or add --force if you mean it.',
  },
  project_not_writable: {
    exit: 1,
    http: 400,
    says: 'Nothing can be written in {path}: {problem}. Nothing was changed.',
    next: 'Correct the permissions of the directory, or name another one.',
  },
  budget_spent: { exit: 4, http: 409, says: '{reason}.', next: '{remedy}' },
  line_full: {
    exit: 4,
    http: 429,
    says: 'The queue is full ({waiting} waiting): no more sessions may wait for a free slot (sessions.max_waiting).',
    next: 'Wait until some are done, stop one with pcc stop <session>, or raise the limit: pcc config set sessions.max_waiting {raised}',
  },
  budget_untouched: {
    exit: 1,
    http: 404,
    says: 'Nothing has been spent in {project} since its budget was last reset.',
    next: 'See what is counted with: pcc budget',
  },
  session_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no session "{ref}".',
    next: 'See all sessions with: pcc list',
  },
  run_not_session: {
    exit: 2,
    http: 409,
    says: '{id} is a run, and this is about one session.',
    next: 'See its sessions with: pcc list, and watch the run with: pcc attach {id}',
  },
  session_ambiguous: { exit: 2, http: 409, says: '"{ref}" could be any of {matches}.', next: 'Type more of the id.' },
  session_over: {
    exit: 2,
    http: 409,
    says: 'Session {id} is {status}.',
    next: '{next}',
  },
  resume_invalid: {
    exit: 2,
    http: 400,
    says: '"{vendor_id}" is not the id of a conversation of {agent}.',
    next: 'See all conversations with: pcc agents sessions {project}',
  },
  record_unwritable: {
    exit: 2,
    http: 400,
    says: 'The recording {path} cannot be written: {problem}',
    next: 'Name a file in an existing directory that you may write to. Nothing was started.',
  },
  account_differs: {
    exit: 2,
    http: 409,
    says: 'Session {id} was started with another login or another API address than this shell has. Nothing was changed.',
    next: 'Run it from a shell with the same variables (ANTHROPIC_*, CLAUDE_CODE_*, CLAUDE_CONFIG_DIR), or continue with this login: pcc stop {id}, then pcc start {project} --resume {vendor_id} --task "…"',
  },
  conversation_live: {
    exit: 2,
    http: 409,
    says: 'The conversation {vendor_id} is in use by session {id}, which has not ended; two sessions would mix in it.',
    next: 'Wait for that session, or stop it with: pcc stop {id}. To continue with a copy of the conversation, add --fork',
  },
  session_taken_over: {
    exit: 1,
    http: 409,
    says: 'Session {id} was taken over by another daemon; this daemon no longer controls it.',
    next: 'See who runs it with: pcc status {id}',
  },
  session_withstood: {
    exit: 1,
    http: 409,
    says: 'Processes of session {id} could not be ended ({pids}), so no agent is started on its conversation.',
    next: 'End them by hand (kill -9 {pids}), then: pcc resume {id}',
  },
  session_running: {
    exit: 2,
    http: 409,
    says: 'Session {id} is already running.',
    next: 'Watch it with: pcc attach {id}',
  },
  nothing_to_retry: {
    exit: 2,
    http: 409,
    says: 'Nothing in session {id} has failed; it is {status}.',
    next: '{next}',
  },
  session_complete: {
    exit: 2,
    http: 409,
    says: 'Session {id} has nothing left to do: {what}.',
    next: '{next}',
  },
  session_waits_for_answer: {
    exit: 2,
    http: 409,
    says: 'Session {id} waits for your answer and continues by itself once it has one.',
    next: 'See the question with: pcc pending. Answer it with: pcc respond {number}',
  },
  checkpoint_unknown: {
    exit: 2,
    http: 404,
    says: 'Session {id} has no usable checkpoint "{checkpoint}".{problem}',
    next: 'See its checkpoints with: pcc checkpoints {id}',
  },
  session_queued: {
    exit: 2,
    http: 409,
    says: 'Session {id} waits for a free slot; it has no agent yet.',
    next: 'Wait for it, or stop it with: pcc stop {id}',
  },
  account_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no account "{ref}".',
    next: 'See all accounts with: pcc quota',
  },
  account_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" could be any of {matches}.',
    next: 'Type more of the id.',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors in choosing an agent and finding its program. */
export const AGENT_ERRORS = {
  agent_unknown: {
    exit: 2,
    http: 400,
    says: 'There is no agent "{agent}" ({origin}). Nothing was started.',
    next: 'See all agents with: pcc agents list. Name a program of your own by its path, or define it in [agents.custom.<name>].',
  },
  agent_malformed: {
    exit: 2,
    http: 400,
    says: 'The agent "{agent}" ({origin}) cannot be understood: {problem}. Nothing was started.',
    next: 'Name an agent from pcc agents list, or write one command as in a shell, for example: --agent "mine --acp"',
  },
  agent_not_installed: {
    exit: 1,
    http: 400,
    says: '{agent} is not installed: there is no program {command} {where}. Nothing was started.',
    next: 'How to get it: {install}. See which agents are installed with: pcc agents doctor',
  },
  agent_not_held: {
    exit: 1,
    http: 409,
    says: '{agent} does not ask before every call, so it may not work unattended: {why}. Nothing was started.',
    next: 'Stay with it (pcc start without --detach), or allow it by name in your own settings: pcc config set agents.unattended {name} (a command line gets its name in [agents.custom.<name>])',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of questions, answers and notifications. */
export const PEOPLE_ERRORS = {
  ask_unknown: {
    exit: 2,
    http: 404,
    says: 'Session {id} has no open question {ask}: it was answered or withdrawn.',
    next: 'Nothing to do.',
  },
  notify_not_set_up: {
    exit: 2,
    http: 400,
    says: 'No notification can be sent: {problem}.',
    next: 'Set up a channel, for example: pcc config set notifications.ntfy.topic YOUR-TOPIC (all of them: pcc docs notifications)',
  },
  escalation_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no decision {number}.',
    next: 'See all open decisions with: pcc pending',
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
    says: 'Decision {number} has needed no answer since {when}: {reason}',
    next: 'See what still waits with: pcc pending',
  },
  answer_unfit: {
    exit: 2,
    http: 400,
    says: 'Decision {number} was not answered: {problem}',
    next: 'See what is asked with: pcc pending',
  },
  answer_unknown: {
    exit: 2,
    http: 404,
    says: 'No answer with the id "{id}" is remembered.',
    next: 'See all remembered answers with: pcc answers list',
  },
  agent_answers: {
    exit: 3,
    http: 403,
    says: 'This command runs inside a session, and an agent cannot decide for a person. Nothing was changed.',
    next: 'Run it in a terminal of your own: pcc {command}',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of worktrees, gates and merges. */
export const WORKSPACE_ERRORS = {
  gates_none: {
    exit: 3,
    http: 409,
    says: '{project} has no gate, so there is nothing to run.',
    next: 'Find commands with: pcc gates detect --write. See what waits for your agreement with: pcc gates list',
  },
  diff_none: {
    exit: 1,
    http: 404,
    says: 'Task {task} has no diff: {why}.',
    next: 'Look at the task with: pcc task show {task}',
  },
  review_none: {
    exit: 1,
    http: 409,
    says: 'Task {task} does not wait for a review: it is {state}.',
    next: 'See what waits for you with: pcc pending',
  },
  place_refused: {
    exit: 3,
    http: 409,
    says: 'Task {task} got no worktree of {project}: {why}.',
    next: '{remedy}',
  },
  place_busy: {
    exit: 3,
    http: 409,
    says: 'Task {task} got no worktree of {project} yet: {why}.',
    next: '{remedy}',
  },
  worktree_unknown: {
    exit: 2,
    http: 404,
    says: 'No worktree was ever made for task {task}.',
    next: 'See all worktrees with: pcc worktree list. Include those that were removed with: pcc worktree list --all',
  },
  worktree_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" matches the worktrees of several tasks: {matches}.',
    next: 'Type more of the id.',
  },
  worktree_busy: {
    exit: 3,
    http: 409,
    says: 'Task {task} is {state} and needs its worktree {path}. Nothing was changed.',
    next: 'Wait until the task is over, or stop it first with: pcc stop {task}',
  },
  worktree_not_so: {
    exit: 2,
    http: 409,
    says: 'The worktree of task {task} is {state}, so this is not possible. Nothing was changed.',
    next: 'See what happened to it with: pcc worktree show {task}',
  },
  merge_no_worktree: {
    exit: 3,
    http: 409,
    says: 'Attempt {attempt} at task {task} has no worktree to merge.',
    next: 'See all worktrees with: pcc worktree list',
  },
  merge_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no merge "{ref}": no merge has that number, and no task with that id has a merge.',
    next: 'See all merges with: pcc merge list --all',
  },
  merge_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" matches the merges of {found} tasks: {tasks}.',
    next: 'Type more of the id, or the number from: pcc merge list --all',
  },
  merge_not_so: {
    exit: 2,
    http: 409,
    says: 'Merge {id} of task {task} is {state} and cannot be changed this way.',
    next: 'See its task with: pcc task show {task}. {next}',
  },
  merge_moved: {
    exit: 1,
    http: 409,
    says: 'Merge {id} was changed by somebody else at the same moment.',
    next: 'See its state with: pcc merge list',
  },
  worktree_gone: {
    exit: 1,
    http: 409,
    says: 'The worktree {path} of task {task} (branch {branch}) is gone.',
    next: 'Restore it with: pcc worktree restore {task}. Or start the task over with: pcc task reset {task}',
  },
  project_without_git: {
    exit: 1,
    http: 409,
    says: '{project} is no longer a git repository, and the session works in a worktree of it.',
    next: 'Restore its .git directory, then continue with: pcc resume',
  },
} as const satisfies Record<string, ErrorRow>
