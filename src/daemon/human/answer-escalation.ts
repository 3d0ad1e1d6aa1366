import { AppError } from '../../base/errors.ts'
import type { AnswerEscalation, AnsweredEscalation, EscalationAnswer } from '../../domain/escalation.ts'
import { lateAnswer } from '../../human/late-answer.ts'
import { questionsIn } from '../../human/memory/questions.ts'
import { readAnswer } from '../../human/read-answer.ts'
import type { SessionRow } from '../../store/tables.ts'
import { escalationsOf } from '../routes/escalations-of.ts'
import type { World } from '../world.ts'
import { questionsAtTerminal } from './answer-at-terminal.ts'
import { answerOpen } from './answer-open.ts'

/** A word on what was refused is noted; what is open is settled by the session that goes on with it. */
export async function answerEscalation(
  number: number,
  answer: AnswerEscalation,
  world: World,
): Promise<AnsweredEscalation> {
  const escalations = escalationsOf(world)
  const found = await escalations.get(number)
  if (found.state === 'answered' || found.state === 'withdrawn') throw lateAnswer(found)
  const row = await world.store.sessions.get(found.session_id)
  const parked = row?.parked?.number === number ? row.parked : undefined
  const questions = parked && 'questions' in parked ? parked.questions : await questionsAtTerminal(found, world)
  if (found.kind === 'error' && answer.verdict === undefined) {
    const problem = 'it is an error: say --approve to try again, or --deny to leave the session as it is'
    throw new AppError('answer_unfit', { number, problem })
  }
  const asked = questions ?? questionsIn(found.input) ?? []
  const said = readAnswer(answer, found.kind === 'question' ? asked : undefined)
  if ('problem' in said) throw new AppError('answer_unfit', { number, problem: said.problem })
  const noted = found.state === 'denied' ? await escalations.answer(number, said) : undefined
  if (noted) return noted
  if (row && found.kind === 'error') return answeredError(number, { said, row, env: answer.env }, world)
  // A review has no call that waits for a word: it is noted what was said.
  if (found.kind === 'review') return world.store.transaction(tx => escalations.settle(number, said, tx))
  return answerOpen(number, { said, env: answer.env }, world)
}

interface ErrorAnswer {
  said: EscalationAnswer
  row: SessionRow
  env: AnswerEscalation['env']
}

/** A yes to an error that was tried often enough tries once more; a no leaves the session as it is. */
async function answeredError(number: number, { said, row, env }: ErrorAnswer, world: World) {
  const escalations = escalationsOf(world)
  const answered = await world.store.transaction(tx => escalations.settle(number, said, tx))
  if (said.verdict !== 'allow') return answered
  try {
    await world.supervisor.resume(row, { env, reason: 'a person said to try again', actor: 'human' })
  } catch (error) {
    await world.store.transaction(tx => escalations.reopen(number, tx))
    throw error
  }
  return answered
}
