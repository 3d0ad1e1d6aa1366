import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Asks, OpenSession } from '../../src/domain/session.ts'
import { claude } from './claude-adapter.ts'
import type { Login } from './conformance/adapter.ts'
import type { Script } from './conformance/script.ts'
import { ALLOW, asking, DENY } from './conformance/world.ts'

// node test/agents/make-recordings.ts [name …]: records real conversations of Claude Code into test/agents/recordings.
// Run by hand when the vendor's messages change; the expected replays are in replay.test.ts.

interface Recording {
  scripts: Script[]
  asks: Asks[]
  login?: Login
}

const PARK = { park: true as const, reason: 'nobody is awake' }
const COLOUR = { question: 'Which colour?', options: ['Red', 'Blue'] }

const RECORDINGS: Record<string, Recording> = {
  success: {
    scripts: [
      {
        prompt: 'write a note',
        steps: [
          {
            say: 'I will write it.',
            think: 'A note, then.',
            calls: [{ plan: [{ text: 'write it', state: 'active' }] }],
          },
          { calls: [{ write: 'note.txt', content: 'hello' }, { run: 'cat note.txt' }] },
          { say: 'It is written.' },
        ],
      },
    ],
    asks: [asking(() => ALLOW)],
  },
  denial: {
    scripts: [{ prompt: 'clean up', steps: [{ calls: [{ run: 'rm -rf build' }] }, { say: 'Then I leave it.' }] }],
    asks: [asking(() => DENY)],
  },
  question: {
    scripts: [{ prompt: 'paint', steps: [{ calls: [{ ask: COLOUR }] }, { say: 'Painted.' }] }],
    asks: [
      asking(
        () => ALLOW,
        () => PARK,
      ),
      asking(
        () => ALLOW,
        () => ({ answers: { [COLOUR.question]: 'Blue' }, by: 'human' }),
      ),
    ],
  },
  limit: {
    scripts: [{ prompt: 'work', steps: [{ fault: { kind: 'limit', resets: '2030-01-01T00:00:00Z' } }] }],
    asks: [asking(() => ALLOW)],
    login: 'subscription',
  },
  subagent: {
    scripts: [
      { prompt: 'send a helper', steps: [{ calls: [{ delegate: 'Look around.' }] }, { say: 'It is clean.' }] },
      { prompt: 'Look around', steps: [{ say: 'On it.', calls: [{ run: 'ls' }] }, { say: 'Nothing odd.' }] },
    ],
    asks: [asking(() => ALLOW)],
  },
}

for (const [name, recording] of Object.entries(RECORDINGS)) {
  const wanted = process.argv.slice(2)
  if (wanted.length === 0 || wanted.includes(name)) await record(name, recording)
}

async function record(name: string, { scripts, asks, login = 'key' }: Recording): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'pcc-recording-'))
  const [home, cwd, raw] = [join(root, 'home'), join(root, 'proj'), join(root, 'raw.jsonl')]
  for (const dir of [home, cwd]) mkdirSync(dir)
  await using model = await claude.openModel(scripts)
  const driver = await claude.openDriver()
  const env = claude.env(home, model.url, login)
  const base: Omit<OpenSession, 'asks'> = {
    id: 's-000000',
    cwd,
    env,
    settingSources: [],
    isolation: 'auto',
    record: raw,
  }
  let prompt = scripts[0]?.prompt
  let vendorId: string | undefined
  for (const one of asks) {
    await using session = await driver.open({
      ...base,
      asks: one,
      prompt,
      resume: vendorId === undefined ? undefined : { vendorId, fork: false },
    })
    for await (const event of session.events) if (event.kind === 'turn_ended') break
    vendorId = session.vendorId
    prompt = undefined
  }
  await driver.close()
  const text = readFileSync(raw, 'utf8')
    .replaceAll(cwd, '/proj')
    .replaceAll(home, '/home/agent')
    .replaceAll(root, '/tmp')
  writeFileSync(new URL(`recordings/${name}.jsonl`, import.meta.url), text)
  rmSync(root, { recursive: true, force: true })
}
