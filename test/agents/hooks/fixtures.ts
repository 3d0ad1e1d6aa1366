import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { isObject } from '../../../src/base/json.ts'
import { checkHookEvent, HOOK_VENDORS, type HookEvent, type HookVendor } from '../../../src/domain/hooks.ts'

const FIXTURES = fileURLToPath(new URL('./fixtures/', import.meta.url))
/** The folder in which the recorded programs worked, after normalising. */
export const PROJECT = '/proj'

/** `case.json` */
export const CaseNotes = z.strictObject({
  notes: z.string(),
  /** `recorded` from the real program of that version, or written after its documentation. */
  source: z.enum(['recorded', 'docs']),
  version: z.string(),
  answer: z.strictObject({
    schema_version: z.literal(1),
    decision: z.enum(['none', 'allow', 'deny', 'ask', 'continue']),
    reason: z.string().optional(),
    input: z.record(z.string(), z.unknown()).optional(),
    context: z.string().optional(),
    notice: z.string().optional(),
  }),
})
export type CaseNotes = z.infer<typeof CaseNotes>

/** `expected.json`: the event as we read it, and our answer as the vendor gets it. Absent if the input must be refused. */
const Expected = z.strictObject({
  event: z.custom<HookEvent>(
    given => isObject(given) && isDeepStrictEqual(checkHookEvent(given['kind'] as never, given), given),
  ),
  output: z.strictObject({ stdout: z.unknown(), exit: z.number() }),
})

export interface Fixture {
  name: string
  vendor: HookVendor
  native: string
  notes: CaseNotes
  stdin: unknown
  expected: z.infer<typeof Expected>
  stderr: string
}

export function readFixtures(): Fixture[] {
  return list(FIXTURES).flatMap(vendor =>
    list(join(FIXTURES, vendor)).flatMap(native =>
      list(join(FIXTURES, vendor, native)).map(name => readFixture(vendor, native, name)),
    ),
  )
}

function list(dir: string): string[] {
  return readdirSync(dir).toSorted()
}

function readFixture(vendor: string, native: string, name: string): Fixture {
  const dir = join(FIXTURES, vendor, native, name)
  const read = (file: string): unknown => JSON.parse(readFileSync(join(dir, file), 'utf8'))
  const stderr = join(dir, 'stderr')
  return {
    name: `${vendor}/${native}/${name}`,
    vendor: z.enum(HOOK_VENDORS).parse(vendor),
    native,
    notes: CaseNotes.parse(read('case.json')),
    stdin: read('stdin.json'),
    expected: Expected.parse(read('expected.json')),
    stderr: existsSync(stderr) ? readFileSync(stderr, 'utf8') : '',
  }
}

export function writeFixture(path: string, files: Record<string, unknown>): void {
  const dir = join(FIXTURES, path)
  mkdirSync(dir, { recursive: true })
  for (const [name, content] of Object.entries(files))
    writeFileSync(
      join(dir, name),
      typeof content === 'string' ? content : `${JSON.stringify(sortKeys(content), null, 2)}\n`,
    )
}

/** Objects with their keys in order, so that two recordings differ only where the program does. */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)]))
}

const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '00000000-0000-0000-0000-000000000000'],
  [/\ba[0-9a-f]{16}\b/g, 'a0000000000000000'],
  [/\b(toolu|call|call_resp)_sim_[0-9a-f]{32}(_\d+)?/g, '$1_sim_0'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-01-01T00:00:00.000Z'],
  [/\b(rollout|session)-\d{4}-\d\d-\d\dT\d\d-\d\d(-\d\d)?(-[0-9a-f]{8}\b(?!-))?/g, '$1'],
  [/\/\d{4}\/\d\d\/\d\d\//g, '/2026/01/01/'],
  [/"timestamp":\d+/g, '"timestamp":0'],
  [/"duration_ms":\d+/g, '"duration_ms":1'],
  [/Wall time: [\d.]+ seconds/g, 'Wall time: 1 seconds'],
  [/"stack":"(\\.|[^"\\])*"/g, '"stack":""'],
  [/Process Group PGID: \d+/g, 'Process Group PGID: 1'],
]

/** Replaces what differs from run to run: folders, ids and times. */
export function normalise(text: string, root: string): unknown {
  const inProject = text.replaceAll(join(root, 'proj'), PROJECT).replaceAll(join(root, 'home'), '/home/agent')
  // Claude Code also writes the path of the project as one word.
  const plain = inProject.replaceAll(join(root, 'proj').replaceAll(/[^A-Za-z0-9]/g, '-'), '-proj')
  return JSON.parse(VOLATILE.reduce((all, [form, to]) => all.replaceAll(form, to), plain))
}
