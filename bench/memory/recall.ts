import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type MemoryReader, newRecord, recordId } from '../../src/domain/memory.ts'
import { MemoryBroker } from '../../src/memory/broker.ts'
import { recall } from '../../src/memory/recall.ts'
import { makeConversation } from '../../test/memory/conversations.ts'
import { makeRandom, meanResult, oracle, ours, REPORT_SEEDS, seedRule } from '../../test/memory/learn/stream.ts'
import { meanQuality, measureOurs, measurePlain } from '../../test/memory/recall-quality.ts'
import type { BenchRow } from '../row.ts'

const ITEMS = 100_000
const PROJECTS = 5
const QUERIES = 200
const CONVERSATIONS = [11, 12, 13, 14, 15, 16]

/** Memory: what learned decisions cost, how well recall finds what answers a question, and how fast. */
export function benchMemory(): BenchRow[] {
  const folder = mkdtempSync(join(tmpdir(), 'pcc-bench-'))
  try {
    return [...benchDecisions(), benchQuality(folder), ...benchSpeed(join(folder, 'large'))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function benchDecisions(): BenchRow[] {
  const [learned, first, best] = [() => ours(), seedRule, () => oracle].map(learner =>
    meanResult(REPORT_SEEDS, learner),
  )
  if (!learned || !first || !best) return []
  const figures = `${learned.cost.toFixed(1)} (first design ${first.cost.toFixed(1)}, oracle ${best.cost.toFixed(1)}), ${learned.wrong.toFixed(1)} % wrong, ${learned.highAllowed} HIGH`
  return [
    {
      what: `cost of 100 decisions by learned advice, asking each time is 100 (mean of ${REPORT_SEEDS.length} streams)`,
      measured: figures,
      ratio: first.cost / learned.cost,
      budget: '≤ 40, ≤ 2.5 % wrong, no HIGH',
      ok: learned.cost <= 40 && learned.wrong <= 2.5 && learned.highAllowed === 0,
    },
  ]
}

function benchQuality(folder: string): BenchRow {
  const conversations = CONVERSATIONS.map(seed => makeConversation(seed))
  const plain = meanQuality(conversations.map(measurePlain))
  const own = meanQuality(
    conversations.flatMap((conversation, at) => measureOurs(conversation, join(folder, `conversation-${at}`))),
  )
  const show = ({ at5, at10 }: typeof own) => `${at5.toFixed(2)} / ${at10.toFixed(2)}`
  return {
    what: `recall of the turn that answers, R@5 / R@10, ${own.questions} questions to ${conversations.length} long conversations`,
    measured: `${show(own)} (plain BM25 ${show(plain)})`,
    ratio: own.at5 / plain.at5,
    budget: '≥ 1.3×',
    ok: own.at5 >= 1.3 * plain.at5,
  }
}

function benchSpeed(folder: string): BenchRow[] {
  using memory = new MemoryBroker(folder)
  const random = makeRandom(7)
  const words = Array.from({ length: 20_000 }, (_, n) => `w${n.toString(36)}x`)
  // Few words are frequent and most are rare, as in any language.
  const sentence = (length: number) =>
    Array.from({ length }, () => words[Math.floor(words.length * random() ** 3)]).join(' ')
  for (let n = 0; n < ITEMS; n += 5_000)
    memory.write(
      Array.from({ length: 5_000 }, (_, at) =>
        newRecord({
          ...{ id: recordId(`bench ${n + at}`), kind: 'episode', scope: 'project', of: `p${(n + at) % PROJECTS}` },
          ...{ actor: 'daemon', authority: 'gate', time: n + at, session: `s-${Math.floor((n + at) / 100)}` },
          ...{ event_type: 'command', tool: null, inputs_hash: '', context: sentence(12), decision: '', action: '' },
          ...{ fix: null, rationale: '' },
        }),
      ),
    )
  const from = processorMs()
  memory.rebuild()
  memory.catchUp()
  const seconds = (processorMs() - from) / 1000
  const reader: MemoryReader = { agent: null, role: null, session: null, projects: ['p1'], now: ITEMS }
  const times = Array.from({ length: QUERIES }, () => {
    const text = sentence(8)
    const start = processorMs()
    const found = memory.find({ reader, text, limit: 100 })
    const standing = memory.find({ reader, kinds: ['procedure', 'anti_pattern'], limit: 20 })
    recall(
      found,
      standing.map(({ item }) => item),
      { text, now: ITEMS, policy: memory.policy() },
    )
    return processorMs() - start
  }).toSorted((a, b) => a - b)
  const p95 = times[Math.floor(QUERIES * 0.95)] ?? Number.NaN
  return [
    {
      what: `recall over ${ITEMS} items, processor time, p95 (median ${(times[QUERIES / 2] ?? 0).toFixed(1)} ms)`,
      measured: `${p95.toFixed(1)} ms`,
      budget: '≤ 30 ms',
      ok: p95 <= 30,
    },
    {
      what: `rebuilding ${ITEMS} episodes with their neighbours from the log, processor time`,
      measured: `${seconds.toFixed(1)} s`,
      budget: '≤ 5 s',
      ok: seconds <= 5,
    },
  ]
}

/** Nothing here waits for anything, so that the time of this thread is the time on a machine that does nothing else. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}
