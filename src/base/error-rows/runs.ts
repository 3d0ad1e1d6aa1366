import type { ErrorRow } from './error-row.ts'

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
