import type { ErrorRow } from './error-row.ts'

/** What goes wrong with questions and answers. */
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
    says: 'Nobody would be told: {problem}.',
    next: 'Set up a channel, for example: pcc config set notifications.ntfy.topic YOUR-TOPIC (docs/notifications.md)',
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
  answer_unknown: {
    exit: 2,
    http: 404,
    says: 'No answer with the id "{id}" is remembered.',
    next: 'See them with: pcc answers list',
  },
  agent_answers: {
    exit: 3,
    http: 403,
    says: 'This runs inside a session, and an agent cannot decide for a person. Nothing was changed.',
    next: 'Do it from a terminal of your own: pcc {command}',
  },
} as const satisfies Record<string, ErrorRow>
