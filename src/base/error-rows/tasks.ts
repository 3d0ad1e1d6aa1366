import { PAST_TIMES } from '../clock.ts'
import type { ErrorRow } from './system.ts'

/** Errors of a project's tasks and their graph. */
export const TASK_ERRORS = {
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
    next: 'Write into it what should be done.',
  },
  requirements_wrong: {
    exit: 2,
    http: 400,
    says: 'The requirements file {path} is wrong: {problems}',
    next: 'Correct the lines that are named; the format: pcc docs requirements',
  },
  requirements_cycle: {
    exit: 2,
    http: 400,
    says: 'In the requirements file {path}, tasks wait for each other: {cycle}',
    next: 'Remove one of these ids from a depends_on.',
  },
  requirements_done: {
    exit: 2,
    http: 400,
    says: 'In the requirements file {path}, every task is already done ({count} of {count}).',
    next: 'Uncheck the tasks to repeat, add a task, or give one with --task "…".',
  },
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
    says: 'Task {id} ({title}) was cancelled, so a task after it would never run.',
    next: 'Leave it out of --after. Nothing was changed.',
  },
  task_cycle: {
    exit: 2,
    http: 409,
    says: 'Task {id} cannot come after {blocker}: {path} would wait for itself forever.',
    next: 'Leave one of these dependencies out. Nothing was changed.',
  },
  task_merging: {
    exit: 1,
    http: 409,
    says: 'Task {id} is not done yet: its work waits to be merged into {target}{why}.',
    next: '{next} To leave its work out, type: pcc merge abort {id} && pcc task done {id}',
  },
  task_moved: {
    exit: 1,
    http: 409,
    says: 'Task {id} was changed by somebody else at the same moment: it is {state} now (attempt {attempt}).',
    next: 'See its new state with: pcc status {session}',
  },
  task_move_refused: {
    exit: 2,
    http: 409,
    says: 'Task {id} is {from} and cannot become {to}.',
    next: 'See its state with: pcc task show {id}',
  },
  task_at_work: {
    exit: 2,
    http: 409,
    says: 'Task {id} is being worked on, so it cannot be taken out of the queue.',
    next: 'Stop the work on it with: pcc stop {session}',
  },
  task_not_there: {
    exit: 2,
    http: 404,
    says: 'There is no task "{ref}".',
    next: 'Name a task by its id, a unique beginning of it, or its id in the file it was imported from. See all tasks with: pcc task list',
  },
  task_unsettled: {
    exit: 3,
    http: 409,
    says: '{what}; it is not the time for that yet.',
    next: 'It is tried again by itself.',
  },
  task_has_parts: {
    exit: 2,
    http: 409,
    says: 'Task {id} has parts ({parts}), and its state follows theirs.',
    next: 'Change the parts instead. See them with: pcc task tree {id}',
  },
  task_begun: {
    exit: 2,
    http: 409,
    says: 'Task {id} is {state} and can no longer get parts.',
    next: 'Reset it first with: pcc task reset {id}',
  },
  task_needed: {
    exit: 2,
    http: 409,
    says: 'Other tasks ({count}) depend on task {id}: {others}. Nothing was deleted.',
    next: 'Delete it and all of them with: pcc task delete {id} --cascade',
  },
  task_not_after: {
    exit: 2,
    http: 404,
    says: 'Task {id} does not come after {blocker}.',
    next: 'See what it comes after with: pcc task deps list {id}',
  },
  task_elsewhere: {
    exit: 2,
    http: 409,
    says: 'Task {id} belongs to another project ({project}).',
    next: 'Connect only tasks of the same project. Nothing was changed.',
  },
  session_in_worktree: {
    exit: 2,
    http: 409,
    says: 'Session {id} works in a worktree of its own, from which one task is verified and merged: it takes no second one.',
    next: 'Add it to the project with: pcc task add "…" --project {project}, then: pcc run {project}. Or give it a session of its own: pcc start {project} --worktree --task "…" Nothing was added.',
  },
  task_of_session: {
    exit: 2,
    http: 409,
    says: 'Task {id} is in the queue of session {session}, where it cannot wait for {blocker}.',
    next: 'Put a task in order in that queue with: pcc add {session} … --after … Nothing was changed.',
  },
  task_taken: {
    exit: 2,
    http: 409,
    says: 'Tasks with these ids already exist: {ids}. Nothing was imported.',
    next: 'Give them new ids with: pcc task import … --copy',
  },
  tasks_wrong: {
    exit: 2,
    http: 400,
    says: 'The tasks in {path} cannot be imported: {problems}. Nothing was imported.',
    next: 'Correct the file and import it again; the format: pcc docs tasks',
  },
  tasks_unreadable: {
    exit: 2,
    http: 400,
    says: 'The file {path} cannot be used: {problem}',
    next: 'Check the path and its permissions.',
  },
  reply_unusable: {
    exit: 1,
    http: 502,
    says: 'The agent gave an unusable reply twice: {problem}',
    next: 'Try again, reword it, or use another model: --model …',
  },
  agent_failed: {
    exit: 1,
    http: 502,
    says: 'The agent gave no answer: {problem}.',
    next: 'Try again in a moment. See what is wrong with: pcc doctor',
  },
  account_limited: {
    exit: 4,
    http: 429,
    says: 'The account may not call the model now{until}. Nothing was asked.',
    next: 'See its limits with: pcc quota. Try again later, or from a shell with another login.',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors of runs and schedules. */
export const RUN_ERRORS = {
  run_unknown: { exit: 2, http: 404, says: 'There is no run {ref}.', next: 'See all runs with: pcc runs' },
  run_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" matches several runs: {matches}.',
    next: 'Type more of the id.',
  },
  run_there: {
    exit: 3,
    http: 409,
    says: 'Run {id} {does} {target}.',
    next: '{next}',
  },
  run_over: {
    exit: 1,
    http: 409,
    says: 'Run {id} is already over ({outcome}).',
    next: 'Start another one with: pcc run {project}',
  },
  run_target_unknown: {
    exit: 2,
    http: 404,
    says: '"{target}" is neither a task nor a directory, nor a feature that has tasks.',
    next: 'See all tasks with: pcc task list. Run all of them with: pcc run .',
  },
  task_without_session: {
    exit: 1,
    http: 409,
    says: 'Task {id} has not been started yet ({state}), so it has no session.',
    next: 'See the task with: pcc task show {id}. {next}',
  },
  task_waits: {
    exit: 3,
    http: 409,
    says: 'Task {id} cannot begin yet: it comes after {blockers}.',
    next: '{next}',
  },
  schedule_wrong: {
    exit: 2,
    http: 400,
    says: '{flag} "{text}" cannot be understood: {problem}.',
    next: 'See the accepted forms with: pcc run --help',
  },
  schedule_past: {
    exit: 2,
    http: 400,
    says: 'The time "{text}" is in the past, or never comes.',
    next: 'Give a time in the future, such as "02:00" or "tomorrow 02:00"; to start now, leave --at out.',
  },
  schedule_there: {
    exit: 2,
    http: 409,
    says: 'The same run is already scheduled as {id}: {when}.',
    next: 'Keep that schedule, or remove it first with: pcc stop {id}',
  },
  schedule_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no schedule {ref}.',
    next: 'See all schedules with: pcc runs',
  },
  schedule_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" matches several schedules: {matches}.',
    next: 'Type more of the id. See all schedules with: pcc runs',
  },
  schedule_over: {
    exit: 2,
    http: 409,
    says: 'The schedule {id} is {state} and starts nothing any more.',
    next: 'Schedule the run again with: pcc run … --at or --every',
  },
  since_wrong: {
    exit: 2,
    http: 400,
    says: 'The time "{text}" cannot be understood.',
    next: `Write it as ${PAST_TIMES}.`,
  },
  since_ahead: {
    exit: 2,
    http: 400,
    says: 'The time "{text}" is in the future, so nothing has happened since.',
    next: 'Give a time in the past, such as "22:00" or "8h".',
  },
} as const satisfies Record<string, ErrorRow>

/** Errors on the way from an idea to a feature's tasks. */
export const FEATURE_ERRORS = {
  feature_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no feature "{name}" in {project}.',
    next: 'See all features with: pcc feature list. Create it with: pcc feature create {name}',
  },
  feature_there: {
    exit: 2,
    http: 409,
    says: 'The feature "{name}" already exists, with its tasks.',
    next: 'Run its tasks with: pcc run {name}. To start over, first delete it with: pcc feature delete {name}',
  },
  feature_begun: {
    exit: 2,
    http: 409,
    says: 'The feature "{name}" {has}, so {flag} would be ignored.',
    next: 'Continue it with: pcc feature create {name}. To start over, first delete it with: pcc feature delete {name} --files',
  },
  feature_moved: {
    exit: 1,
    http: 409,
    says: 'The feature "{name}" was changed or deleted by somebody else at the same moment.',
    next: 'See its state with: pcc feature show {name}',
  },
  feature_file: {
    exit: 2,
    http: 400,
    says: 'The file {path} cannot be used: {problem}.',
    next: 'Correct the file, then run the same command again.',
  },
  no_plan: {
    exit: 3,
    http: 409,
    says: 'The feature "{name}" has no plan with tasks: {path} names none.',
    next: 'Write a line for each task, as in "- [ ] Add the switch to the settings page", then: pcc feature create {name} --no-ai',
  },
  interview_needs_terminal: {
    exit: 2,
    http: 400,
    says: 'The interview about "{name}" needs a terminal, and this is not one.',
    next: 'Write what you want into a file, then run: pcc feature create {name} --from <file>',
  },
  no_tools: {
    exit: 2,
    http: 403,
    says: 'These tools belong to no session: {problem}.',
    next: 'pcc itself starts pcc mcp for an agent. To try it by hand, name a running session: pcc mcp --session <session>',
  },
} as const satisfies Record<string, ErrorRow>
