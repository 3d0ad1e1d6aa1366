import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RANK_WEIGHTS, type RankWeights } from '../../src/memory/rank-items.ts'
import { makeConversation } from '../../test/memory/conversations.ts'
import {
  meanResult,
  oracle,
  ours,
  REPORT_SEEDS,
  type StreamResult,
  seedRule,
  TUNING_SEEDS,
} from '../../test/memory/learn/stream.ts'
import { meanQuality, measureOurs, measurePlain, type RecallQuality } from '../../test/memory/recall-quality.ts'

// npm run eval -- --memory: what learned decisions cost on streams with drift, poison and rare HIGH, and how well recall finds the turn of a long
// conversation that answers a question, with each kind of evidence left out. Constants were chosen on other seeds than those reported.

const CONVERSATIONS = [11, 12, 13, 14, 15, 16]
const VARIANTS: Record<string, Partial<RankWeights>> = {
  'all evidence': {},
  'without neighbours': { around: 0 },
  'without sessions': { session: 0 },
  'without speakers': { speaker: 0 },
  'without dates': { date: 0 },
  'without recency': { recency: 0 },
  'without content': { content: 0 },
}

export function reportMemory(): void {
  reportStreams()
  const folder = mkdtempSync(join(tmpdir(), 'pcc-eval-'))
  try {
    reportRecall(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function reportStreams(): void {
  for (const [name, seeds] of [
    ['tuned on', TUNING_SEEDS],
    ['reported', REPORT_SEEDS],
  ] as const) {
    print(`Decisions, ${seeds.length} streams (${name}); for 100 decisions`, ['cost', 'asked', 'wrong', 'HIGH allowed'])
    const learners = { oracle: () => oracle, 'first design': seedRule, 'learned advice': () => ours() }
    print('always ask', ['100.0', '100.0', '0.0', '0'])
    for (const [learner, make] of Object.entries(learners)) print(learner, figures(meanResult(seeds, make)))
  }
}

const figures = ({ cost, asked, wrong, highAllowed }: StreamResult) => [
  ...[cost, asked, wrong].map(value => value.toFixed(1)),
  String(highAllowed),
]

function reportRecall(folder: string): void {
  const conversations = CONVERSATIONS.map(seed => makeConversation(seed))
  const settings = Object.values(VARIANTS).map(without => ({ ...RANK_WEIGHTS, ...without }))
  const measured = conversations.map((conversation, at) =>
    measureOurs(conversation, join(folder, String(at)), settings),
  )
  const plain = meanQuality(conversations.map(measurePlain))
  print(`Recall, ${plain.questions} questions to ${conversations.length} conversations`, ['R@5', 'R@10'])
  const show = ({ at5, at10 }: RecallQuality) => [at5.toFixed(2), at10.toFixed(2)]
  print('plain BM25', show(plain))
  for (const [at, variant] of Object.keys(VARIANTS).entries())
    print(variant, show(meanQuality(measured.flatMap(qualities => qualities[at] ?? []))))
}

function print(name: string, cells: readonly string[]): void {
  process.stdout.write(`${name.padEnd(56)}${cells.map(cell => cell.padStart(14)).join('')}\n`)
}
