import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSimulator } from '../../../src/simulator/open.ts'
import { claude } from '../claude-adapter.ts'
import { ALLOW, asking } from '../conformance/world.ts'
import { type Case, LIMIT_CASES, LOOK_ALIKE_CASES, OTHER_CASES } from './corpus-cases.ts'

// node test/agents/limits/make-corpus.ts [limits|others|look-alikes]: records the corpus from the real Claude Code.
// Run by hand when the vendor's messages change; the expected results are in corpus.test.ts.

const FILES: Record<string, Case[]> = { limits: LIMIT_CASES, others: OTHER_CASES, 'look-alikes': LOOK_ALIKE_CASES }

/** Long lists of names that say nothing about limits. */
const LISTS = ['tools', 'slash_commands', 'terminal_slash_commands', 'skills', 'agents', 'plugins']

for (const [name, cases] of Object.entries(FILES)) {
  const wanted = process.argv.slice(2)
  if (wanted.length > 0 && !wanted.includes(name)) continue
  const file = new URL(`${name}.jsonl`, import.meta.url)
  writeFileSync(file, '')
  for (const one of cases) appendFileSync(file, await record(one))
}

async function record({ name, login, turns, helper, files = {}, env = {} }: Case): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'pcc-corpus-'))
  const [home, cwd, raw] = [join(root, 'home'), join(root, 'proj'), join(root, 'raw.jsonl')]
  for (const dir of [home, cwd]) mkdirSync(dir)
  for (const [path, text] of Object.entries(files)) writeFileSync(join(cwd, path), text)
  const conversations = [
    ...(helper ? [{ match: { contains: 'helper' }, turns: helper }] : []),
    { match: { contains: 'begin' }, turns },
  ]
  await using simulator = await openSimulator({ text: JSON.stringify({ conversations }) })
  const driver = await claude.openDriver()
  const session = await driver.open({
    id: 's-000000',
    cwd,
    prompt: 'begin',
    env: { ...claude.env(home, simulator.url, login), ...env },
    settingSources: [],
    isolation: 'auto',
    record: raw,
    asks: asking(
      () => ALLOW,
      () => ({ declined: 'nobody is here', by: 'test' }),
    ),
  })
  for await (const event of session.events) if (event.kind === 'turn_ended') break
  await session[Symbol.asyncDispose]()
  await driver.close()
  const text = readFileSync(raw, 'utf8')
    .replaceAll(cwd, '/proj')
    .replaceAll(cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), '-proj')
    .replaceAll(home, '/home/agent')
    .replaceAll(root, '/tmp')
  rmSync(root, { recursive: true, force: true })
  return text
    .trim()
    .split('\n')
    .map(line => trimmed(line, name))
    .join('\n')
    .concat('\n')
}

function trimmed(line: string, name: string): string {
  const value = JSON.parse(line)
  if (value.pcc === 'open') value.name = name
  for (const list of LISTS) if (Array.isArray(value[list])) value[list] = []
  return JSON.stringify(value)
}
