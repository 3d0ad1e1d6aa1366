import type { MemoryReader } from '../../src/domain/memory.ts'
import { newRecord, recordId } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { RANK_WEIGHTS, type RankWeights } from '../../src/memory/rank-items.ts'
import type { Conversation } from './conversations.ts'

export interface RecallQuality {
  questions: number
  at5: number
  at10: number
}

/** How often the turn that answers a question is among the first five and ten that a search finds. */
function measure({ questions }: Conversation, search: (question: string) => readonly number[]): RecallQuality {
  const ranks = questions.map(({ text, evidence }) => search(text).indexOf(evidence))
  const share = (most: number) => ranks.filter(rank => rank >= 0 && rank < most).length / Math.max(1, ranks.length)
  return { questions: ranks.length, at5: share(5), at10: share(10) }
}

/** Ours: every turn is an episode, written and found through the broker; once for each setting of the weights. */
export function measureOurs(
  conversation: Conversation,
  folder: string,
  settings: readonly RankWeights[] = [RANK_WEIGHTS],
): RecallQuality[] {
  using memory = new MemoryBroker(folder)
  const last = conversation.turns.at(-1)?.time ?? 0
  const reader: MemoryReader = { agent: null, role: null, session: null, projects: ['p'], now: last }
  const records = conversation.turns.map(({ text, session, time }, at) =>
    newRecord({
      ...{ id: recordId(`turn ${at}`), kind: 'episode', scope: 'project', of: 'p', actor: 'daemon', authority: 'gate' },
      ...{ event_type: 'turn', tool: null, inputs_hash: '', context: text, decision: '', action: '', fix: null },
      ...{ rationale: '', time, session },
    }),
  )
  memory.write(records)
  const places = new Map(conversation.turns.map(({ text, session }, at) => [`${session} ${text}`, at]))
  return settings.map(weights =>
    measure(conversation, question =>
      memory
        .find({ reader, text: question, limit: 10, weights })
        .map(({ item }) => places.get(`${item.session} ${item.text}`) ?? -1),
    ),
  )
}

/** Plain BM25 over the turns, with the usual constants. */
export function measurePlain(conversation: Conversation): RecallQuality {
  const documents = conversation.turns.map(({ text }) => wordsOf(text))
  const average = documents.reduce((sum, words) => sum + words.length, 0) / documents.length
  const frequency = new Map<string, number>()
  for (const words of documents) for (const word of new Set(words)) frequency.set(word, (frequency.get(word) ?? 0) + 1)
  return measure(conversation, question => {
    const query = new Set(wordsOf(question))
    const scores = documents.map(words =>
      [...query].reduce((sum, word) => {
        const count = words.filter(other => other === word).length
        const rows = frequency.get(word) ?? 0
        const idf = Math.log(1 + (documents.length - rows + 0.5) / (rows + 0.5))
        return sum + (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / average))
      }, 0),
    )
    return scores
      .map((score, at) => ({ score, at }))
      .toSorted((a, b) => b.score - a.score)
      .slice(0, 10)
      .map(({ at }) => at)
  })
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

export function meanQuality(all: readonly RecallQuality[]): RecallQuality {
  const questions = all.reduce((sum, each) => sum + each.questions, 0)
  const mean = (key: 'at5' | 'at10') => all.reduce((sum, each) => sum + each[key] * each.questions, 0) / questions
  return { questions, at5: mean('at5'), at10: mean('at10') }
}
