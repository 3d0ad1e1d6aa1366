import type { CriterionOpinion } from '../../../domain/workspace/landing/opinion.ts'
import type { Seen } from './seen.ts'

/** Whether a criterion holds, and what says so. */
export interface Criterion {
  text: string
  status: 'met' | 'unmet' | 'unproven'
  /** `test: shop > opens`, `verifier: …`; empty where nothing says anything. */
  evidence: string
}

/** The lines of a task's acceptance criteria. */
export function criteriaIn(acceptance: string): string[] {
  return acceptance
    .split('\n')
    .map(line => line.replace(/^\s*[-*]\s*(\[[ x]\]\s*)?/, '').trim())
    .filter(line => line !== '')
}

/** Each criterion with what is known about it: an opinion before what only has its words. */
export function judgeCriteria(
  texts: readonly string[],
  checks: readonly Seen[],
  opinions: readonly CriterionOpinion[],
): Criterion[] {
  return texts.map((text, at) => {
    const opinion = opinions.find(({ criterion }) => same(criterion, text)) ?? byPlace(opinions, texts, at)
    if (opinion) return { text, status: opinion.met ? 'met' : 'unmet', evidence: `verifier: ${opinion.reason}` }
    return byGate(text, checks) ?? byTest(text, checks) ?? { text, status: 'unproven', evidence: '' }
  })
}

/** One that says the same in other words counts by its place, where there are as many. */
function byPlace(
  opinions: readonly CriterionOpinion[],
  texts: readonly string[],
  at: number,
): CriterionOpinion | undefined {
  const isOther = (opinion: CriterionOpinion | undefined) =>
    opinion !== undefined && !texts.some(text => same(opinion.criterion, text))
  return opinions.length === texts.length && isOther(opinions[at]) ? opinions[at] : undefined
}

/** Criteria that ask for no more than that a gate passes. */
const ASKS_FOR: [gate: string, words: RegExp][] = [
  ['test', /^(all |the |existing |unit )*tests? (suite )?(still )?(pass(es)?|(is|are) green|succeeds?)( again)?\.?$/i],
  ['lint', /^((the )?lint(er|ing)?|eslint|biome|ruff|clippy) (passes|is clean|reports no (errors|problems))\.?$/i],
  ['typecheck', /^((the )?type-?check(er|ing)?|types|tsc|mypy) (pass(es)?|(is|are) clean|reports no errors)\.?$/i],
  ['build', /^((the )?(build|project|code)) (passes|succeeds|builds|compiles|is green)\.?$/i],
]

function byGate(text: string, checks: readonly Seen[]): Criterion | undefined {
  const bare = text.replaceAll('`', '').replace(/\.$/, '')
  const named = checks.find(
    ({ command }) => command !== null && same(bare.replace(/ (passes|succeeds|is green)$/i, ''), command),
  )
  const asked = ASKS_FOR.find(([, words]) => words.test(bare))?.[0]
  const check = named ?? checks.find(({ gate, kind }) => kind === 'command' && gate === asked)
  if (!check || check.status === 'skipped' || check.status === 'broken') return undefined
  const isMet = check.status === 'passed' || check.status === 'flaky'
  return { text, status: isMet ? 'met' : 'unmet', evidence: `${check.gate}: ${check.command} (exit ${check.exit})` }
}

/** A test that has most of the criterion's telling words in its name. */
function byTest(text: string, checks: readonly Seen[]): Criterion | undefined {
  const wanted = words(text)
  if (wanted.length < LEAST_WORDS) return undefined
  for (const { tests, gate } of checks) {
    for (const { name, status } of tests ?? []) {
      const there = new Set(words(name))
      if (wanted.filter(word => there.has(word)).length < wanted.length * LEAST_SHARE) continue
      if (status === 'skipped') continue
      return { text, status: status === 'failed' ? 'unmet' : 'met', evidence: `${gate}: ${name}` }
    }
  }
  return undefined
}

/** Fewer words fit too many tests; a share below this is another thing. */
const LEAST_WORDS = 3
const LEAST_SHARE = 0.75

function words(text: string): string[] {
  const all = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
  return [...new Set(all)].filter(word => !COMMON.has(word))
}

const COMMON = new Set(
  'the and for with that this from are was not has have its when then than must should can will does into'.split(' '),
)

function same(a: string, b: string): boolean {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[\s.`"']+/g, ' ')
      .trim()
  return plain(a) === plain(b)
}
