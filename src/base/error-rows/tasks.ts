import type { ErrorRow } from './system.ts'

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
  reply_unusable: {
    exit: 1,
    http: 502,
    says: 'The agent replied twice with something that cannot be used: {problem} Nothing was stored.',
    next: 'Try again, say it in other words, or with another model: --model …',
  },
  agent_failed: {
    exit: 1,
    http: 502,
    says: 'The agent gave no answer: {problem}. Nothing was stored.',
    next: 'Try again in a moment. See what is wrong with: pcc doctor',
  },
  account_limited: {
    exit: 4,
    http: 429,
    says: 'The account may not call the model now{until}. Nothing was asked.',
    next: 'See how it stands with: pcc quota. Try again then, or from a shell with another login.',
  },
} as const satisfies Record<string, ErrorRow>

/** What goes wrong with runs. */
export const RUN_ERRORS = {
  run_unknown: { exit: 2, http: 404, says: 'There is no run {ref}.', next: 'See all with: pcc runs' },
  run_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" fits several runs: {matches}.',
    next: 'Give more of the id.',
  },
  run_there: {
    exit: 3,
    http: 409,
    says: 'Run {id} is at work on {target} already.',
    next: 'Watch it with: pcc attach {id}',
  },
  run_over: {
    exit: 1,
    http: 409,
    says: 'Run {id} is over already ({outcome}).',
    next: 'Begin another one with: pcc run',
  },
  run_target_unknown: {
    exit: 2,
    http: 404,
    says: 'Nothing is called "{target}" here: no task, no directory, and no task belongs to a feature of that name.',
    next: 'See what there is with: pcc task list. Run all of it with: pcc run .',
  },
  task_without_session: {
    exit: 1,
    http: 409,
    says: 'Nobody has begun task {id} yet ({state}), so it has no session.',
    next: 'Look at it with: pcc task show {id}. Begin it with: pcc run {id}',
  },
  schedule_wrong: {
    exit: 2,
    http: 400,
    says: '{flag} "{text}" cannot be understood: {problem}.',
    next: 'See what can be said with: pcc run --help',
  },
  schedule_past: {
    exit: 2,
    http: 400,
    says: 'The time "{text}" is over, or never comes.',
    next: 'Give a time to come, such as "02:00" or "tomorrow 02:00"; to begin now leave --at out.',
  },
  schedule_there: {
    exit: 2,
    http: 409,
    says: 'The same is scheduled already, as {id}: {when}.',
    next: 'Leave it so, or take it back first with: pcc stop {id}',
  },
  schedule_unknown: { exit: 2, http: 404, says: 'There is no schedule {ref}.', next: 'See them with: pcc runs' },
  schedule_over: {
    exit: 2,
    http: 409,
    says: 'The schedule {id} is {state}: nothing comes of it any more.',
    next: 'Schedule it anew with: pcc run … --at or --every',
  },
  since_wrong: {
    exit: 2,
    http: 400,
    says: 'The time "{text}" cannot be understood.',
    next: 'Say it as "22:00", "yesterday 18:00", "mon 22:00", "2027-01-31 22:00" or "8h".',
  },
  since_ahead: {
    exit: 2,
    http: 400,
    says: 'The time "{text}" is still to come: nothing has happened since.',
    next: 'Give a time in the past, such as "22:00" or "8h".',
  },
} as const satisfies Record<string, ErrorRow>

/** What goes wrong on the way from an idea to a feature's tasks. */
export const FEATURE_ERRORS = {
  feature_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no feature "{name}" in {project}.',
    next: 'See those there are with: pcc feature list. Make it with: pcc feature create {name}',
  },
  feature_there: {
    exit: 2,
    http: 409,
    says: 'The feature "{name}" is there already, with its tasks.',
    next: 'Work through it with: pcc run {name}. Begin anew after: pcc feature delete {name}',
  },
  feature_begun: {
    exit: 2,
    http: 409,
    says: 'The feature "{name}" {has}: {flag} would be left out.',
    next: 'Go on with it: pcc feature create {name}. Begin anew after: pcc feature delete {name} --files',
  },
  feature_moved: {
    exit: 1,
    http: 409,
    says: 'The feature "{name}" was taken up or deleted by somebody else in the same moment.',
    next: 'See where it stands with: pcc feature show {name}',
  },
  feature_file: {
    exit: 2,
    http: 400,
    says: 'The file {path} cannot be used: {problem}.',
    next: 'Mend it, then go on with the same command.',
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
    says: 'There is nobody to interview about "{name}": this is no terminal.',
    next: 'Write down what you want in a file, and: pcc feature create {name} --from <file>',
  },
  no_tools: {
    exit: 2,
    http: 403,
    says: 'There is no session that these tools belong to: {problem}.',
    next: 'pcc mcp is started by pcc for an agent; to look at it, name a session that is at work: pcc mcp --session <session>',
  },
} as const satisfies Record<string, ErrorRow>

/** What goes wrong with the notes of a project. */
export const NOTE_ERRORS = {
  note_unknown: {
    exit: 2,
    http: 404,
    says: 'There is no note "{ref}" in {folder}.',
    next: 'A note is named by its file or its title, or a beginning of one that is unique. See them with: pcc notes',
  },
  note_ambiguous: {
    exit: 2,
    http: 409,
    says: '"{ref}" fits several notes: {matches}.',
    next: 'Give more of the name.',
  },
  note_refused: {
    exit: 2,
    http: 400,
    says: 'The note "{title}" was not written down: {why}.',
    next: 'What a note may be is in docs/journal.md.',
  },
  note_broken: {
    exit: 2,
    http: 400,
    says: '{file} is no note: {problem}. It is left out until it is mended.',
    next: 'Mend it with: pcc notes edit {file}',
  },
  editor_failed: {
    exit: 2,
    http: 400,
    says: 'The editor ({editor}) could not be used: {problem}.',
    next: 'Name another one in $EDITOR, or change the file yourself: {file}',
  },
} as const satisfies Record<string, ErrorRow>
