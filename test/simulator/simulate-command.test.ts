import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { openSimulator } from '../../src/simulator/open.ts'
import { BIN } from '../support/program.ts'
import { bareEnv, tempDir } from '../support/world.ts'
import { say, user } from './client.ts'

const ROOT = join(import.meta.dirname, '../..')
const HELLO = join(ROOT, 'examples/hello.yaml')

/** Starts `pcc simulate` with an environment of its own; it is ended with the test. */
function simulate(t: TestContext, ...args: string[]) {
  const child = spawn(process.execPath, [BIN, 'simulate', ...args], {
    env: bareEnv(tempDir(t)),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const closed = once(child, 'close') as Promise<[number | null]>
  t.after(async () => {
    child.kill('SIGKILL')
    await closed
  })
  return { child, closed, err: collect(child) }
}

function collect(child: ChildProcess): { text: string } {
  const seen = { text: '' }
  child.stderr?.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString('utf8')
  })
  return seen
}

async function linesUntil(child: ChildProcess, last: RegExp): Promise<string[]> {
  const lines: string[] = []
  if (!child.stdout) return lines
  for await (const line of createInterface({ input: child.stdout })) {
    lines.push(line)
    if (last.test(line)) break
  }
  return lines
}

test('pcc simulate prints the address and the exports, serves, and ends with Ctrl+C', async t => {
  const log = join(tempDir(t), 'log.jsonl')
  const { child, closed, err } = simulate(t, HELLO, '--log', log)
  const lines = await linesUntil(child, /Ctrl\+C/)
  const url = /at (http:\/\/127\.0\.0\.1:\d+)$/.exec(lines[0] ?? '')?.[1] ?? ''
  assert.ok(lines.includes(`  export ANTHROPIC_BASE_URL=${url}`))
  assert.ok(lines.some(line => line.startsWith('  export ANTHROPIC_API_KEY=')))
  const reply = await say(url, [user('Write a greeting to hello.txt')])
  assert.equal(reply.stop_reason, 'tool_use')
  child.kill('SIGINT')
  assert.deepEqual((await closed)[0], 0)
  assert.match(err.text, /200 answer {2}greeting\.turns\[0\]/)
  assert.match(err.text, /1 request, 0 not as the scenario expects/)
  assert.equal(JSON.parse(readFileSync(log, 'utf8')).turn, 'greeting.turns[0]')
})

test('with --json the address and environment are one object; a prompt nobody expected makes the exit code 1', async t => {
  const { child, closed } = simulate(t, HELLO, '--json')
  const [line = ''] = await linesUntil(child, /./)
  const { url, port, env } = JSON.parse(line) as { url: string; port: number; env: Record<string, string> }
  assert.equal(url, `http://127.0.0.1:${port}`)
  assert.equal(env['ANTHROPIC_BASE_URL'], url)
  assert.equal((await say(url, [user('something else')])).status, 400)
  child.kill('SIGTERM')
  assert.equal((await closed)[0], 1)
})

test('pcc simulate refuses bad input with words and exit code', async t => {
  const dir = tempDir(t)
  const broken = join(dir, 'broken.yaml')
  writeFileSync(broken, 'conversations:\n  - match: hi\n    turns:\n      - txt: a\n')
  const put = (name: string, content: string) => {
    writeFileSync(join(dir, name), content)
    return join(dir, name)
  }
  const fault = (kind: string) => `conversations:\n  - match: hi\n    turns:\n      - fault: ${kind}\n`
  await using taken = await openSimulator({ file: HELLO })
  const cases: [string[], number, RegExp][] = [
    [[broken], 2, /broken\.yaml:4: conversations\[0\]\.turns\[0\]\.txt: there is no such key/],
    [[join(dir, 'absent.yaml')], 2, /absent\.yaml cannot be read: it does not exist\n/],
    [[dir], 2, /cannot be read: it is not a file\n/],
    [[put('empty.yaml', '# nothing\n')], 2, /empty\.yaml:1: the file: is empty\n/],
    [[put('fault.yaml', fault('overlaoded'))], 2, /"overlaoded" is not one of .*; did you mean "overloaded"\?\n/],
    [[put('meteor.yaml', fault('meteor'))], 2, /"meteor" is not one of the faults that pcc docs simulator lists\n/],
    [[HELLO, '--port', String(taken.port)], 1, new RegExp(`Port ${taken.port} on 127\\.0\\.0\\.1 is taken`)],
    [[HELLO, '--port', 'high'], 2, /a port is a number/],
    [[HELLO, '--prot', '1'], 2, /unknown option '--prot'/],
    [[], 2, /missing required argument 'scenario'/],
  ]
  for (const [args, code, words] of cases) {
    const { closed, err } = simulate(t, ...args)
    assert.equal((await closed)[0], code, args.join(' '))
    assert.match(err.text, words)
  }
})
