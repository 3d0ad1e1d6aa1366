import type { History } from '../history.ts'
import { answerFor, taskText } from '../plan/scenario.ts'
import type { SessionPlan, StepPlan } from '../plan/session-plan.ts'
import { wasCut } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

type TaskPlan = SessionPlan['tasks'][number]

/**
 * All planned work of a task was done: every tool ran, every file exists, every question was asked and the model got its answer.
 * This is checked with the tools' files and the vendor's log, not with our own events. Only a step whose own call was cut off may be missing.
 */
export function noWorkLost(history: History): Violation[] {
  return history.sessions.flatMap(session =>
    session.tasks
      .filter(({ token }) => history.rows.tasks.some(row => row.title === taskText(token) && row.state === 'done'))
      .flatMap(task => plannedSteps(task, session, history))
      .filter(step => !isThere(step, session, history) && !isExcused(step, session, history))
      .map(step => ({ invariant: 'no-work-lost' as const, text: `${step.token}: ${MISSING[step.do]}` })),
  )
}

const MISSING: Record<StepPlan['do'], string> = {
  work: 'the tool never ran, and its task is done',
  write: 'the file was never written, and its task is done',
  ask: 'the model never heard an answer to its question, and its task is done',
  limit: '',
  outage: '',
  login: '',
}

/** After a hand-over, the work of either agent after the refusal counts. */
function plannedSteps({ steps, second = [] }: TaskPlan, session: SessionPlan, history: History): StepPlan[] {
  const ran = new Set(second.filter(step => isThere(step, session, history)))
  const refusal = steps.findIndex(step => step.do === 'limit' || step.do === 'outage')
  return second.length > 0 && ran.size === second.length ? steps.slice(0, refusal) : steps
}

function isThere(step: StepPlan, { name }: SessionPlan, { ledgers, files, calls }: History): boolean {
  switch (step.do) {
    case 'work':
      return (ledgers[name] ?? []).some(line => line.startsWith(`begin ${step.token} `))
    case 'write':
      return (files[name] ?? []).includes(`${step.token}.ts`)
    case 'ask':
      return calls.some(({ heard }) => heard.includes(answerFor(step.token)))
    default:
      return true // there is nothing to do
  }
}

/** A question with a row can be found under its number, so nothing excuses a missing answer. */
function isExcused(step: StepPlan, session: SessionPlan, history: History): boolean {
  const isKept =
    step.do === 'ask' &&
    bodiesOf(history, 'question.parked').some(({ body }) =>
      body.questions.some(({ question }) => question.includes(` ${step.token}?`)),
    )
  return !isKept && wasCut(history, session, step.token)
}
