import type { ErrorRow } from './error-row.ts'

/** What goes wrong with a project's tasks and their graph. */
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
    next: 'Write into it what is to be done.',
  },
  requirements_wrong: {
    exit: 2,
    http: 400,
    says: 'The requirements file {path} is wrong: {problems}',
    next: 'Mend what is named; docs/requirements.md shows what a file may say.',
  },
  requirements_cycle: {
    exit: 2,
    http: 400,
    says: 'In the requirements file {path} tasks wait for one another: {cycle}',
    next: 'Take one of these ids out of a depends_on.',
  },
  requirements_done: {
    exit: 2,
    http: 400,
    says: 'In the requirements file {path} every task is done already ({count} of {count}).',
    next: 'Uncheck what is to be done again, add a task, or say --task "…".',
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
  task_not_there: {
    exit: 2,
    http: 404,
    says: 'There is no task "{ref}".',
    next: 'A task is named by its id, or a beginning of it that is unique. See them with: pcc task list',
  },
  task_has_parts: {
    exit: 2,
    http: 409,
    says: 'Task {id} has {parts} of its own as parts, and its state follows them.',
    next: 'Say it of the parts. See them with: pcc task tree {id}',
  },
  task_begun: {
    exit: 2,
    http: 409,
    says: 'Task {id} is {state}: it can be given no parts any more.',
    next: 'Reset it first with: pcc task reset {id}',
  },
  task_needed: {
    exit: 2,
    http: 409,
    says: 'Task {id} is needed by {count}: {others}. Nothing was deleted.',
    next: 'Delete all of them with: pcc task delete {id} --cascade',
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
    next: 'Tasks are connected within one project. Nothing was changed.',
  },
  task_of_session: {
    exit: 2,
    http: 409,
    says: 'Task {id} is in the queue of session {session}, where it cannot wait for {blocker}.',
    next: 'Order that queue with: pcc add {session} … --after … Nothing was changed.',
  },
  task_taken: {
    exit: 2,
    http: 409,
    says: 'There are tasks with these ids already: {ids}. Nothing was imported.',
    next: 'Give them new ids with: pcc task import … --copy',
  },
  tasks_wrong: {
    exit: 2,
    http: 400,
    says: 'The tasks of {path} cannot be taken: {problems}. Nothing was imported.',
    next: 'Mend the file and import it again. What it may say is in docs/tasks.md.',
  },
  tasks_unreadable: {
    exit: 2,
    http: 400,
    says: 'The file {path} cannot be used: {problem}',
    next: 'Check the path and the rights on it.',
  },
} as const satisfies Record<string, ErrorRow>
