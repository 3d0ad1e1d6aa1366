import { isDeepStrictEqual } from 'node:util'
import { crashPoint } from '../../base/crash-point.ts'
import { AppError } from '../../base/errors.ts'
import { shortId } from '../../base/ids.ts'
import type { Suggestion } from '../../domain/brain.ts'
import { isAutomatic } from '../../domain/deciders.ts'
import type { EscalationAnswer, NewEscalation } from '../../domain/escalation.ts'
import type { Answer, Park, Question } from '../../domain/session.ts'
import type { TerminalReply } from '../../human/terminals.ts'
import { answerByMachine, type MachineAnswer, questionRow } from './brain.ts'
import { agentFields, eventOf, type LiveSession, type SessionContext } from './context.ts'
import { record } from './record.ts'
import { askingPatch, terminalWait } from './terminal.ts'
import { answersByQuestion, type GivenAnswer, keepAnswerForLater } from './tool-call.ts'

/** A question on its way to a person. */
interface Asked {
  askId: string
  suggestion: Suggestion | undefined
  /** The number of its escalation, once it has one. */
  number?: number | undefined
}

const AT_A_TERMINAL = 'it is asked at a terminal that is attached'
const NOBODY_ANSWERED = 'nobody at the terminal answered; the question waits'
const ASK_AGAIN =
  'another question of yours waits for a person first, and this one is put to them too; when you go on, ask it again'
const NOBODY_TO_ASK = 'nobody is attached to answer; the question waits'

/** Only a call of the main agent can be parked and answered later. */
const SUBAGENT_UNANSWERED = 'nobody is attached to answer; decide by yourself and tell your caller what you assumed'

/**
 * The agent asks a question. A person at an attached terminal answers it; with nobody attached it is parked and no process
 * waits.
 */
export async function onQuestion(
  question: Question,
  signal: AbortSignal,
  context: SessionContext,
): Promise<Answer | Park> {
  const { live, deps } = context
  const given = live.agent.answer
  if (given && 'answer' in given && isAnswerTo(given, question)) {
    live.agent.answer = undefined
    live.agent.answeredQuestion = live.row.parked && 'questions' in live.row.parked ? live.row.parked : undefined
    try {
      return await deliver(question, given.answer, context)
    } catch (error) {
      keepAnswerForLater(live, given)
      throw error
    }
  }
  const since = performance.now()
  const machine = await answerByMachine(question.questions, signal, context)
  if (machine.answer) return deliver(question, machine.answer, { ...context, machine, since })
  const { suggestion } = machine
  const askId = shortId('q')
  if (question.agentId !== undefined && !deps.terminals.isAttached(live.id)) {
    return deliver(question, { declined: SUBAGENT_UNANSWERED, by: 'nobody' }, context)
  }
  if (!deps.terminals.isAttached(live.id) || (live.agent.parking.size > 0 && question.agentId === undefined)) {
    return park(question, { ...context, askId, suggestion, reason: NOBODY_TO_ASK })
  }
  const reply = deps.terminals.ask(
    live.id,
    { kind: 'question', ask_id: askId, questions: question.questions, suggestion },
    terminalWait({ signal, parks: question.agentId === undefined }, context),
  )
  const asked = {
    ask_id: askId,
    call_id: question.callId,
    questions: question.questions,
    ...agentFields(question),
    suggestion,
  }
  const number = await record(live, deps, {
    events: [eventOf(live, 'question.asked', asked)],
    patch: askingPatch(live, deps),
    escalation: rowForQuestion(question, AT_A_TERMINAL, { live, suggestion }),
  })
  if (number !== undefined) deps.terminals.number(live.id, askId, number)
  return deliverReply(question, await reply, { ...context, askId, suggestion, number })
}

function deliverReply(
  question: Question,
  reply: TerminalReply,
  context: SessionContext & Asked,
): Promise<Answer | Park> | Park {
  if ('answered' in reply) {
    const { answers, reason, by, always, settled } = reply.answered
    const declined = { declined: reason ?? 'the person at the terminal does not want to answer; decide yourself', by }
    const number = settled ? undefined : context.number
    return deliverFirst(question, answers ? { answers, by } : declined, { ...context, always, number })
  }
  if (reply.unanswered !== 'withdrawn' && question.agentId === undefined) {
    return park(question, { ...context, reason: reply.unanswered === 'silence' ? NOBODY_ANSWERED : NOBODY_TO_ASK })
  }
  if (reply.unanswered !== 'withdrawn')
    return deliver(question, { declined: SUBAGENT_UNANSWERED, by: 'nobody' }, context)
  // `settle` withdraws the escalation.
  const declined = 'the session was stopped before anybody answered'
  return deliver(question, { declined, by: 'nobody' }, { ...context, number: undefined })
}

/** Whether the given answer belongs to this question. A resumed model may ask the same again under a new call id. */
function isAnswerTo(given: Extract<GivenAnswer, { answer: Answer }>, question: Question): boolean {
  return given.callId === question.callId || isDeepStrictEqual(given.questions, question.questions)
}

/** Delivers an answer, or the earlier one where the question was answered elsewhere a moment before. */
async function deliverFirst(question: Question, answer: Answer, delivery: Delivery): Promise<Answer> {
  const { live, deps, number } = delivery
  try {
    return await deliver(question, answer, delivery)
  } catch (error) {
    const isLate = error instanceof AppError && error.code === 'escalation_answered'
    const first = isLate && number !== undefined ? await deps.store.escalations.get(number) : undefined
    if (!first) throw error
    const { answer: values, answer_reason: reason, answered_by: by } = first
    const earlier = { answer: values ?? undefined, reason: reason ?? undefined, by: by ?? 'human' }
    return deliver(question, answersByQuestion(question.questions, earlier), { live, deps })
  }
}

interface Delivery extends SessionContext {
  /** Set where no person was asked. */
  machine?: MachineAnswer
  /** When the search for that answer began. */
  since?: number
  /** The number of the escalation that was asked at a terminal. */
  number?: number | undefined
  /** How long the answer counts. */
  always?: EscalationAnswer['always']
  /** An escalation that is recorded although the agent goes on without the answer. */
  escalation?: NewEscalation
}

/** Stores an answer on its way to the agent. A person's answer counts the next time the same is asked. */
async function deliver(
  question: Question,
  answer: Answer,
  { live, deps, machine, since, number, always, escalation }: Delivery,
): Promise<Answer> {
  const body = {
    call_id: question.callId,
    answers: 'answers' in answer ? answer.answers : {},
    ...('declined' in answer ? { declined: answer.declined } : {}),
    by: answer.by,
    ...(machine && { confidence: machine.confidence, reasoning: machine.reasoning }),
    ...(since !== undefined && { latency_ms: Math.round((performance.now() - since) * 100) / 100 }),
    ...agentFields(question),
  }
  const isAuto = isAutomatic(answer.by)
  const { questions_auto, questions_human } = live.row
  const count = isAuto ? { questions_auto: questions_auto + 1 } : { questions_human: questions_human + 1 }
  const counted = 'answers' in answer ? count : {}
  crashPoint('question.before-answer')
  await record(live, deps, {
    events: [eventOf(live, 'question.answered', body, isAuto || answer.by === 'nobody' ? 'daemon' : 'human')],
    patch: { ...counted, parked: null, ...askingPatch(live, deps) },
    ...(number !== undefined && { settle: { number, answer: toEscalationAnswer(question, answer, always) } }),
    escalation,
  })
  live.log.info({ by: answer.by, declined: 'declined' in answer }, 'question answered')
  crashPoint('question.after-answer')
  return answer
}

/** An answer as the escalation keeps it: in the order of the questions. */
function toEscalationAnswer(
  { questions }: Question,
  answer: Answer,
  always: EscalationAnswer['always'],
): EscalationAnswer {
  if ('declined' in answer) return { verdict: 'deny', reason: answer.declined, by: answer.by }
  return { answer: questions.map(({ question }) => answer.answers[question] ?? ''), by: answer.by, always }
}

/**
 * Parks a question. It is held in `live.parking` until the turn ends, which happens at once; `settle` then writes it into the
 * row. An agent can park one call at a time: a second question gets an escalation too, and is answered when asked again.
 */
function park(
  question: Question,
  { askId, suggestion, reason, ...context }: SessionContext & Asked & { reason: string },
) {
  const { callId, questions } = question
  const { live, deps } = context
  if (live.agent.parking.size > 0) {
    const escalation = rowForQuestion(question, reason, { live, suggestion })
    return deliver(question, { declined: ASK_AGAIN, by: 'nobody' }, { live, deps, escalation })
  }
  crashPoint('question.before-park')
  live.agent.parking.set(callId, {
    parked: { ask_id: askId, call_id: callId, questions, reason, suggestion },
    reason,
    escalation: rowForQuestion(question, reason, { live, suggestion }),
  })
  live.log.info({ questions: question.questions.length }, 'question parked')
  return { park: true, reason } satisfies Park
}

function rowForQuestion(
  question: Question,
  reason: string,
  { live, suggestion }: { live: LiveSession } & Pick<Asked, 'suggestion'>,
) {
  return { ...questionRow(question, reason, live), ...(suggestion && { context: { suggestion } }) }
}

/** What a person types to end an interview. */
const ENOUGH = /^\s*\/?(done|enough|stop)[.!]?\s*$/i

const WRITE_NOW =
  'The person says that this is enough. Ask nothing more: write the spec now from what you know, and name what is open in it.'

/** A question of an interview. After a person says `done` they are asked nothing more: the agent is told to write. */
export async function askInInterview(
  question: Question,
  signal: AbortSignal,
  context: SessionContext,
): Promise<Answer | Park> {
  const { live, deps } = context
  const answered = await deps.store.events({ subject: live.id, kinds: ['question.answered'] })
  const isOver = answered.some(
    ({ kind, body }) => kind === 'question.answered' && isEnough(Object.values(body.answers)),
  )
  if (isOver) return { declined: WRITE_NOW, by: 'human' }
  const answer = await onQuestion(question, signal, context)
  const isDone = 'answers' in answer && isEnough(Object.values(answer.answers))
  return isDone ? { declined: WRITE_NOW, by: answer.by } : answer
}

function isEnough(answers: readonly (string | string[])[]): boolean {
  return answers.flat().some(text => ENOUGH.test(text))
}
