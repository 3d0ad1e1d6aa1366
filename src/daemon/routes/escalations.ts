import type { FastifyInstance } from 'fastify'
import * as z from 'zod'
import { AppError } from '../../base/errors.ts'
import { AnswerAsk } from '../../domain/api.ts'
import {
  AnswerEscalation,
  type Escalation,
  type EscalationAnswer,
  EscalationState,
  type EscalationView,
  mayBeAllowedOnce,
  type NeedsReply,
  uncheckedKey,
} from '../../domain/escalation.ts'
import type { Need } from '../../domain/needs.ts'
import type { RememberedAnswer, RememberedView } from '../../domain/remembered-answer.ts'
import { lateAnswerError } from '../../human/escalations.ts'
import { findAnswerProblem } from '../../human/terminals.ts'
import type { Parked, SessionRow } from '../../store/tables.ts'
import { answerAsked, answerEscalation, answerOpen } from '../answers.ts'
import { type DaemonContext, getEscalations, readNeeds } from '../context.ts'
import { listRefusedSpeakers } from '../speakers.ts'
import { parseRequest } from './errors.ts'
import type { SpeakerCheck } from './guard.ts'
import { findSession, toOpenAsk } from './sessions.ts'
import { realOrGiven } from './tasks.ts'

const NeedsQuery = z.strictObject({ session: z.string().min(1).optional(), project: z.string().min(1).optional() })

const ListQuery = z.strictObject({ session: z.string().min(1).optional(), state: z.string().optional() })

/** Escalations, and people's answers to them. */
export function escalationRoutes(app: FastifyInstance, daemon: DaemonContext, speakers: SpeakerCheck): void {
  const escalations = getEscalations(daemon)

  app.get('/escalations', async request => {
    const query = parseRequest(ListQuery, request.query, 'GET /escalations')
    const session = query.session === undefined ? undefined : (await daemon.store.sessions.resolve(query.session)).id
    const states = query.state === undefined ? undefined : parseStates(query.state)
    const rows = await shown(await escalations.list({ session, states }), daemon)
    return { escalations: rows, refused_speakers: await listRefusedSpeakers(daemon, session) }
  })

  app.get('/needs', async (request): Promise<NeedsReply> => {
    const query = parseRequest(NeedsQuery, request.query, 'GET /needs')
    const session = query.session === undefined ? undefined : (await daemon.store.sessions.resolve(query.session)).id
    const project = query.project === undefined ? undefined : await realOrGiven(query.project)
    const { needs, refused } = await readNeeds(daemon, { project })
    const numbers = new Set([...needs, ...refused].flatMap(({ number }) => number ?? []))
    const isNamed = (row: Escalation) =>
      numbers.has(row.number) || (row.state === 'open' && needs.some(({ key }) => key === uncheckedKey(row)))
    const rows = (await escalations.list({ session })).filter(isNamed)
    const views = await shown(rows, daemon)
    const isWanted = ({ key, number, session_id }: Need) =>
      session === undefined ||
      session_id === session ||
      views.some(view => view.number === number || uncheckedKey(view) === key)
    return { needs: needs.filter(isWanted), refused: refused.filter(isWanted), escalations: views }
  })

  app.get('/escalations/:number', async request => {
    return showEscalation(await escalations.get(readNumber(request.params)), daemon)
  })

  app.post('/escalations/:number/answer', async request => {
    const number = readNumber(request.params)
    const sent = parseRequest(AnswerEscalation, request.body, 'POST /escalations/:number/answer')
    const answer = { ...sent, by: daemon.person }
    if (answer.verdict === 'allow') speakers.refuseUnknownApproval(request, await escalations.get(number))
    return answerByPerson(number, answer, daemon)
  })
}

/** Answers a decision; `by` says who does. */
export async function answerByPerson(number: number, answer: AnswerEscalation, daemon: DaemonContext) {
  if (answer.verdict === undefined && answer.answer === undefined) {
    const problem = 'verdict: allow or deny, or answer: what you say to a question'
    throw new AppError('bad_request', { problem })
  }
  const { escalation, remembered, task } = await answerEscalation(number, answer, daemon)
  daemon.log.info({ number, verdict: answer.verdict, by: answer.by, remembered, task }, 'decision answered')
  return { escalation: await showEscalation(escalation, daemon), remembered, ...(task && { task }) }
}

/** A decision as the API shows it. */
export async function showEscalation(escalation: Escalation, daemon: DaemonContext): Promise<EscalationView> {
  const [view] = await shown([escalation], daemon)
  if (!view) throw new AppError('escalation_unknown', { number: escalation.number })
  return view
}

/** Decisions as the API shows them. */
export async function shown(escalations: Escalation[], { store }: DaemonContext): Promise<EscalationView[]> {
  const waiting = await store.escalations.sessionsOf(escalations.map(({ number }) => number))
  const sessions = Map.groupBy(waiting, ({ number }) => number)
  return escalations.map(escalation => {
    const { fingerprint: _, dedup_key: __, bound: ___, ...row } = escalation
    const waiting = (sessions.get(row.number) ?? []).map(({ session_id }) => session_id)
    return { ...row, sessions: waiting, again: mayBeAllowedOnce(escalation) }
  })
}

function parseStates(text: string): EscalationState[] {
  return text.split(',').map(name => parseRequest(EscalationState, name.trim(), 'GET /escalations?state='))
}

/** Text that is no number is treated as the number of no escalation. */
function readNumber(params: unknown): number {
  const { number } = params as { number: string }
  if (!/^[1-9]\d{0,8}$/.test(number)) throw new AppError('escalation_unknown', { number: JSON.stringify(number) })
  return Number(number)
}

const ROUTE = 'POST /sessions/:ref/answers'

/** Answers to a session's asks: given at once while its agent waits, or by resuming a parked session. */
export function answerRoutes(app: FastifyInstance, daemon: DaemonContext, speakers: SpeakerCheck): void {
  app.post('/sessions/:ref/answers', async request => {
    const answer = { ...parseRequest(AnswerAsk, request.body, ROUTE), by: daemon.person }
    const approve = (asked: Pick<Escalation, 'risk'>) => speakers.refuseUnknownApproval(request, asked)
    return answerSession(await findSession(request.params, daemon), { answer, approve }, daemon)
  })

  // A key was pressed at a terminal with an open ask: the person there does not count as absent.
  app.post('/sessions/:ref/presence', async request => {
    daemon.terminals.stir((await findSession(request.params, daemon)).id)
    return { ok: true }
  })
}

/** Answers an ask of a session. `approve` is called before a yes to a permission counts, and throws if it must not. */
export async function answerSession(
  session: SessionRow,
  { answer, approve }: { answer: AnswerAsk; approve(asked: Pick<Escalation, 'risk'>): void | Promise<void> },
  daemon: DaemonContext,
): Promise<{ ok: true }> {
  const row = await waitUntilParked(session, answer.ask_id, daemon)
  const asked = daemon.terminals.open(row.id).find(({ ask_id }) => ask_id === answer.ask_id)
  const ask = asked ?? (row.parked && toOpenAsk(row.parked))
  if (answer.verdict === 'allow' && ask?.kind === 'permission') await approve(ask)
  if (row.state === 'ended' && row.parked?.ask_id === answer.ask_id) await answerParked(row, answer, daemon)
  else {
    await refuseLateAnswer(row.id, answer.ask_id, daemon)
    await answerAsked(row.id, answer, daemon)
  }
  return { ok: true }
}

/** Parking a call takes its agent a moment. */
const PARKED_WITHIN_MS = 10_000

/** Waits if the ask is being parked right now: an answer may come at the moment when the terminal's grace is over. */
async function waitUntilParked(
  row: SessionRow,
  askId: string,
  { store, supervisor }: DaemonContext,
): Promise<SessionRow> {
  const parking = supervisor.run(row.id)?.agent.parking.values() ?? []
  if (row.state === 'ended' || ![...parking].some(({ parked }) => parked.ask_id === askId)) return row
  const signal = AbortSignal.timeout(PARKED_WITHIN_MS)
  for await (const { kind } of store.follow(0, { subject: row.id, signal })) {
    const now = kind === 'session.ended' ? await store.sessions.get(row.id) : undefined
    if (now?.state === 'ended') return now
  }
  return row
}

/** Says who was first, if an ask was parked and somebody has answered it since. */
async function refuseLateAnswer(session: string, askId: string, daemon: DaemonContext): Promise<void> {
  if (daemon.terminals.open(session).some(({ ask_id }) => ask_id === askId)) return
  const kinds = ['permission.parked', 'question.parked'] as const
  const events = await daemon.store.events({ subject: session, kinds: [...kinds] })
  const parked = events.findLast(
    ({ kind, body }) => kinds.some(one => one === kind) && 'ask_id' in body && body.ask_id === askId,
  )
  const number = parked && 'number' in parked.body ? parked.body.number : undefined
  if (typeof number !== 'number') return
  const escalation = await getEscalations(daemon).get(number)
  if (escalation.state !== 'open') throw lateAnswerError(escalation)
}

async function answerParked(row: SessionRow, answer: AnswerAsk, daemon: DaemonContext): Promise<void> {
  const parked = row.parked
  if (!parked) return
  const problem = findAnswerProblem(toOpenAsk(parked), answer)
  if (problem) throw new AppError('bad_request', { problem })
  if (!answer.env) {
    throw new AppError('bad_request', { problem: 'env is needed, because the agent is started again' })
  }
  const said = toEscalationAnswer(parked, answer)
  if (parked.number === undefined) await daemon.supervisor.resumeParked(row, { said, env: answer.env })
  else await answerOpen(parked.number, { said, env: answer.env, first: row.id }, daemon)
}

/** Answers in the order of the questions. The text of a question cannot serve as a key if a secret was taken out of it. */
function toEscalationAnswer(parked: Parked, { verdict, answers, reason, by }: AnswerAsk): EscalationAnswer {
  if (!('questions' in parked) || !answers) return { verdict, reason, by }
  return { answer: parked.questions.map(({ question }) => answers[question] ?? ''), reason, by }
}

const RememberedQuery = z.strictObject({ project: z.string().min(1).optional() })

/** Remembered answers: list them, forget one. */
export function rememberedRoutes(app: FastifyInstance, { store, log }: DaemonContext): void {
  app.get('/answers', async request => {
    const { project } = parseRequest(RememberedQuery, request.query, 'GET /answers')
    return { answers: (await store.answers.list({ project })).map(showRemembered) }
  })

  app.delete('/answers/:id', async request => {
    const { id } = request.params as { id: string }
    const found = (await store.answers.list()).find(answer => answer.id === id)
    if (!found || !(await store.answers.forget(id))) throw new AppError('answer_unknown', { id })
    log.info({ id }, 'answer forgotten')
    return { forgotten: showRemembered(found) }
  })
}

function showRemembered({ fingerprint: _, normalised: __, project, ...answer }: RememberedAnswer): RememberedView {
  return { ...answer, scope: project === '' ? 'everywhere' : 'project', project: project === '' ? null : project }
}
