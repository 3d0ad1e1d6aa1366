import type { EscalationAnswer } from '../../domain/escalation.ts'
import type { NewEvent } from '../../domain/event.ts'
import type { Answer } from '../../domain/session.ts'
import type { Parked, ParkedPermission, ParkedQuestion } from '../../store/tables.ts'
import { answerTo, givenAnswer, isPermission } from '../asks/given-answer.ts'
import type { Start } from '../start/new-run.ts'

type InWords = Start & { prompt: string; events: NewEvent[] }

/**
 * How a parked session begins whose call cannot be answered itself any more: the agent took an answer but its login failed
 * before the model heard it, or it gave the call up. The next prompt tells what was said.
 */
export function toldInWords(parked: Parked, said: EscalationAnswer, subject: string): InWords {
  if (isPermission(parked)) {
    return { prompt: permissionInWords(parked, said), answer: givenAnswer(parked, said), events: [] }
  }
  const answer = answerTo(parked.questions, said)
  return { prompt: inWords(parked, answer), taken: parked, events: [answeredInWords(subject, parked, answer)] }
}

/** What was allowed is asked for once more, since nobody but the agent can make the call. */
function permissionInWords({ tool, target }: ParkedPermission, { verdict, reason }: EscalationAnswer): string {
  const about = `About the call that waited for a person (${tool}: ${target}): `
  if (verdict === 'allow') return `${about}it was approved. Make exactly that call again now, then go on with the task.`
  return `${about}${reason ?? 'a person said no'}. Go on with the task without it.`
}

function inWords({ questions }: ParkedQuestion, answer: Answer): string {
  if ('declined' in answer) return `About your question: ${answer.declined}. Go on with the task.`
  const lines = questions.map(
    ({ question }) => `- ${question} ${[answer.answers[question] ?? '(no answer)'].flat().join(', ')}`,
  )
  return `The answers to your questions are:\n${lines.join('\n')}\nThey count in place of earlier ones. Go on with the task.`
}

/** What is stored of it. */
function answeredInWords(subject: string, { call_id }: ParkedQuestion, answer: Answer): NewEvent {
  const told = 'answers' in answer ? { answers: answer.answers } : { answers: {}, declined: answer.declined }
  return { actor: 'human', subject, kind: 'question.answered', body: { call_id, ...told, by: answer.by } }
}
