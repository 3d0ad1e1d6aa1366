import type { History } from '../history.ts'
import { answerFor, taskText } from '../plan/scenario.ts'
import type { SessionPlan, StepPlan } from '../plan/session-plan.ts'
import { wasCut } from './cuts.ts'
import { bodiesOf } from './events.ts'
import type { Violation } from './violation.ts'

type TaskPlan = SessionPlan['tasks'][number]

/**
 * Whatever a task had to do was done: every tool ran, every file is there, every question was asked and the model heard its answer. What
 * tools wrote and the vendor's log say so, not our own events. Only a step whose own call was cut may be missing.
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

/** A task that was taken over is done by what either of the two did behind the refusal. */
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
      return true // nothing to be done
  }
}

/** A question that has a row is found under its number, so that nothing excuses a missing answer. */
function isExcused(step: StepPlan, session: SessionPlan, history: History): boolean {
  const isKept =
    step.do === 'ask' &&
    bodiesOf(history, 'question.parked').some(({ body }) =>
      body.questions.some(({ question }) => question.includes(` ${step.token}?`)),
    )
  return !isKept && wasCut(history, session, step.token)
}
