import { AppError } from '../../base/errors.ts'
import type { RememberedView } from '../../domain/remembered-answer.ts'
import { openClient } from '../client.ts'
import { refuseInSession } from '../commands/decide/own-terminal.ts'
import type { Context } from '../context.ts'
import { firstLine } from '../render/text.ts'
import { said } from './list.ts'

/** `pcc answers forget`: all of them or, where one is not known, none. */
export async function forgetAnswers(context: Context, ids: string[]): Promise<void> {
  const { places, env, json, out } = context
  refuseInSession(env, 'answers forget …')
  const client = await openClient(places, context)
  const { answers } = await client.request<{ answers: RememberedView[] }>('GET', '/answers')
  const meant = ids.map(id => theOne(id, answers))
  const forgotten: RememberedView[] = []
  for (const { id } of new Set(meant)) {
    forgotten.push((await client.request<{ forgotten: RememberedView }>('DELETE', `/answers/${id}`)).forgotten)
  }
  if (json) return out(JSON.stringify({ forgotten }, null, 2))
  for (const answer of forgotten) {
    out(`Forgotten: ${answer.id}  ${firstLine(answer.asked)} > ${firstLine(said(answer))}`)
  }
  out('You are asked again.')
}

function theOne(typed: string, answers: RememberedView[]): RememberedView {
  const exact = answers.filter(({ id }) => id === typed)
  const found =
    exact.length > 0 ? exact : answers.filter(({ id }) => id.startsWith(typed) || id.startsWith(`a-${typed}`))
  const [first, ...more] = found
  if (!first || more.length > 0) throw new AppError('answer_unknown', { id: typed })
  return first
}
