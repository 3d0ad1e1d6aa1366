import { messageOf } from '../../base/errors.ts'
import {
  type CriterionOpinion,
  type Finding,
  hasPassed,
  isBroken,
  type NewEvidence,
  type VerifierMaterial,
  type VerifierOpinion,
} from '../../domain/evidence.ts'
import { GATE_COMMANDS, type GateCommand } from '../../domain/option-values.ts'
import type { HashedObjects } from '../git/check-objects.ts'
import { gitOnObjects } from '../git/refs.ts'
import type { VerifiedTree } from './commit-leftovers.ts'
import { type GateCheck, gateCheck, type Judge, statusByFindings, type VerifyRequest } from './request.ts'
import type { Disturbance } from './tree-watch.ts'

/** The result of each acceptance criterion. One that nothing proves is reported, but does not block by itself. */
export function acceptanceGate(criteria: readonly Criterion[]): GateCheck {
  if (criteria.length === 0)
    return gateCheck({ ...ACCEPTANCE, status: 'skipped', output: 'The task has no acceptance criteria.' })
  const findings = criteria.map(criterionFinding)
  const output = criteria.map(
    ({ text, status, evidence }) => `${status}: ${text}${evidence === '' ? '' : ` [${evidence}]`}`,
  )
  return gateCheck({ ...ACCEPTANCE, status: statusByFindings(findings), findings, output: output.join('\n') })
}

const ACCEPTANCE = { gate: 'acceptance', kind: 'acceptance' } as const

function criterionFinding({ text, status, evidence }: Criterion): Finding {
  switch (status) {
    case 'met':
      return { code: 'acceptance.met', weight: 'note', text: `Met: ${text} (${evidence})` }
    case 'unmet':
      return { code: 'acceptance.unmet', weight: 'block', text: `Not met: ${text} (${evidence})` }
    case 'unproven':
      return {
        code: 'acceptance.unproven',
        weight: 'note',
        text: `Nothing that was run proves or disproves it: ${text}`,
      }
  }
}

/** Whether a criterion holds, and what proves it. */
interface Criterion {
  text: string
  status: 'met' | 'unmet' | 'unproven'
  /** `test: shop > opens`, `verifier: …`; empty if there is no evidence. */
  evidence: string
}

/** The lines of a task's acceptance criteria. */
export function parseCriteria(acceptance: string): string[] {
  return acceptance
    .split('\n')
    .map(line => line.replace(/^\s*[-*]\s*(\[[ x]\]\s*)?/, '').trim())
    .filter(line => line !== '')
}

/** Each criterion with what is known about it: an opinion counts before a gate or test that only has similar words. */
export function judgeCriteria(
  texts: readonly string[],
  checks: readonly GateCheck[],
  opinions: readonly CriterionOpinion[],
): Criterion[] {
  return texts.map((text, at) => {
    const opinion =
      opinions.find(({ criterion }) => isSameText(criterion, text)) ?? opinionByPosition(opinions, texts, at)
    if (opinion) return { text, status: opinion.met ? 'met' : 'unmet', evidence: `verifier: ${opinion.reason}` }
    return judgeByGate(text, checks) ?? judgeByTest(text, checks) ?? { text, status: 'unproven', evidence: '' }
  })
}

/** An opinion that words the criterion differently counts by its position, where there are as many opinions as criteria. */
function opinionByPosition(
  opinions: readonly CriterionOpinion[],
  texts: readonly string[],
  at: number,
): CriterionOpinion | undefined {
  const isOther = (opinion: CriterionOpinion | undefined) =>
    opinion !== undefined && !texts.some(text => isSameText(opinion.criterion, text))
  return opinions.length === texts.length && isOther(opinions[at]) ? opinions[at] : undefined
}

/** Criteria that ask for no more than that a gate passes. */
const ASKS_FOR: Record<GateCommand, RegExp> = {
  test: /^(all |the |existing |unit )*tests? (suite )?(still )?(pass(es)?|(is|are) green|succeeds?)( again)?\.?$/i,
  lint: /^((the )?lint(er|ing)?|eslint|biome|ruff|clippy) (passes|is clean|reports no (errors|problems))\.?$/i,
  typecheck: /^((the )?type-?check(er|ing)?|types|tsc|mypy) (pass(es)?|(is|are) clean|reports no errors)\.?$/i,
  build: /^((the )?(build|project|code)) (passes|succeeds|builds|compiles|is green)\.?$/i,
}

function judgeByGate(text: string, checks: readonly GateCheck[]): Criterion | undefined {
  const bare = text.replaceAll('`', '').replace(/\.$/, '')
  const named = checks.find(
    ({ command }) => command !== null && isSameText(bare.replace(/ (passes|succeeds|is green)$/i, ''), command),
  )
  const asked = GATE_COMMANDS.find(gate => ASKS_FOR[gate].test(bare))
  const check = named ?? checks.find(({ gate, kind }) => kind === 'command' && gate === asked)
  if (!check || check.status === 'skipped' || isBroken(check)) return undefined
  return {
    text,
    status: hasPassed(check) ? 'met' : 'unmet',
    evidence: `${check.gate}: ${check.command} (exit ${check.exit})`,
  }
}

/** Judges by a test whose name has most of the criterion's significant words. */
function judgeByTest(text: string, checks: readonly GateCheck[]): Criterion | undefined {
  const wanted = significantWords(text)
  if (wanted.length < LEAST_WORDS) return undefined
  for (const { tests, gate } of checks) {
    for (const { name, status } of tests ?? []) {
      const present = new Set(significantWords(name))
      if (wanted.filter(word => present.has(word)).length < wanted.length * LEAST_SHARE) continue
      if (status === 'skipped') continue
      return { text, status: status === 'failed' ? 'unmet' : 'met', evidence: `${gate}: ${name}` }
    }
  }
  return undefined
}

/** Fewer words match too many tests; a smaller share means that the test is about something else. */
const LEAST_WORDS = 3
const LEAST_SHARE = 0.75

function significantWords(text: string): string[] {
  const all = text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
  return [...new Set(all)].filter(word => !COMMON.has(word))
}

const COMMON = new Set(
  'the and for with that this from are was not has have its when then than must should can will does into'.split(' '),
)

function isSameText(a: string, b: string): boolean {
  const plain = (text: string) =>
    text
      .toLowerCase()
      .replaceAll(/[\s.`"']+/g, ' ')
      .trim()
  return plain(a) === plain(b)
}

/** A model reads the diff: beyond this length it is cut. */
const MOST_DIFF = 60_000

export interface VerifierGateRequest {
  gate: 'verifier' | 'second-opinion'
  request: VerifyRequest
  subject: VerifiedTree
  objects?: HashedObjects | undefined
  criteria: string[]
  checks: readonly NewEvidence[]
}

/** Asks a second agent, which must not write: if it has changed the tree, its opinion does not count. */
export async function verifierGate(
  { gate, ...about }: VerifierGateRequest,
  judge: Judge,
  keeper: ((gate: string) => Promise<Disturbance>) | undefined,
): Promise<{ check: GateCheck; opinions: CriterionOpinion[] }> {
  const began = performance.now()
  const { request } = about
  const material = await collectMaterial(about)
  const opinion = await judge(material, request.signal).catch(failedOpinion)
  const after = await keeper?.(gate)
  const hasChangedTree = after !== undefined && (after.findings.length > 0 || after.made.length > 0)
  const status = hasChangedTree ? 'broken' : opinion.status
  const unmet = opinion.criteria.filter(({ met }) => !met)
  const block = (code: string, text: string) => ({ code, weight: 'block' as const, text })
  const own =
    status === 'failed' && unmet.length === 0
      ? [block(`${gate}.failed`, `The ${gate} found: ${opinion.remarks}`)]
      : unmet.map(({ criterion, reason }) =>
          block(`${gate}.failed`, `The ${gate} found that this does not hold: ${criterion}. ${reason}`),
        )
  const broken =
    status === 'broken' ? [block(`${gate}.broken`, `The ${gate} gave no opinion that counts: ${opinion.remarks}`)] : []
  const findings = [...own, ...broken, ...(after?.findings ?? [])]
  return {
    check: gateCheck({
      ...{ gate, kind: gate, status: status === 'passed' && unmet.length > 0 ? 'failed' : status },
      duration_ms: Math.round(performance.now() - began),
      output: opinionOutput(opinion),
      findings,
    }),
    opinions: hasChangedTree ? [] : opinion.criteria,
  }
}

function failedOpinion(thrown: unknown): VerifierOpinion {
  return { status: 'broken', criteria: [], remarks: messageOf(thrown), model: null, cost_usd: 0 }
}

function opinionOutput({ criteria, remarks, model }: VerifierOpinion): string {
  const lines = criteria.map(({ criterion, met, reason }) => `${met ? 'met' : 'not met'}: ${criterion} (${reason})`)
  return [...(model === null ? [] : [`by ${model}`]), ...lines, remarks].join('\n')
}

async function collectMaterial({
  request,
  subject,
  objects,
  criteria,
  checks,
}: Omit<VerifierGateRequest, 'gate'>): Promise<VerifierMaterial> {
  const { task, worktree, directory } = request
  const base = worktree?.base ?? request.began ?? null
  const head = subject.commit ?? subject.tree
  const diff = base !== null && head !== null ? await readDiff(directory, [base, head], objects) : NO_DIFF
  const { id, title, description } = task
  return { directory, task: { id, title, description, acceptance: criteria }, base, head, ...diff, checks }
}

const NO_DIFF = { diff: '', size: { files: 0, lines: 0 } }

async function readDiff(
  directory: string,
  ends: [base: string, head: string],
  env: HashedObjects | undefined,
): Promise<typeof NO_DIFF> {
  const [diff, counts] = await Promise.all([
    gitOnObjects(directory, ['diff', '--no-color', ...ends, '--'], { env }),
    gitOnObjects(directory, ['diff', '--numstat', ...ends, '--'], { env }),
  ])
  const rows = counts.stdout.split('\n').filter(Boolean)
  const lines = rows.reduce((sum, row) => {
    const [more = '', less = ''] = row.split('\t')
    return sum + (Number(more) || 0) + (Number(less) || 0)
  }, 0)
  const text = diff.ok ? diff.stdout : `git could not show the diff: ${diff.stderr}`
  const cut =
    text.length > MOST_DIFF ? `${text.slice(0, MOST_DIFF)}\n[… ${text.length - MOST_DIFF} characters left out …]` : text
  return { diff: cut, size: { files: rows.length, lines } }
}
