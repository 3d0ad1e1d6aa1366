import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { PassThrough, Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { runBatch } from '../../../src/cli/commands/explain-batch.ts'
import { loadProjectPolicy } from '../../../src/supervisor/judge-call.ts'
import { BIN } from '../../support/program.ts'
import { tempDir } from '../../support/world.ts'
import { pccFor } from '../pcc.ts'

interface Answer {
  id: string | number | null
  risk?: string
  verdict?: string
  confidence?: number
  reasons?: { code: string; risk: string; text: string }[]
  error?: { code: string; message: string }
}

function parts(t: TestContext) {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { HOME: home } })
  const policyFor = (project: string) => loadProjectPolicy({ paths, env: {}, project })
  return { project: '/proj', home: '/home/u', policyFor, paths }
}

async function answers(t: TestContext, input: Iterable<Buffer | string>): Promise<Answer[]> {
  const output = new PassThrough({ highWaterMark: 1 << 26 })
  const bytes = Readable.from([...input].map(chunk => Buffer.from(chunk)))
  await runBatch({ ...parts(t), input: bytes, output })
  output.end()
  const lines = (await text(output)).split('\n')
  assert.equal(lines.pop(), '')
  return lines.map(line => JSON.parse(line) as Answer)
}

const row = (id: number | string, command: unknown, more: object = {}) =>
  `${JSON.stringify({ id, tool: 'Bash', input: { command }, project: '/proj', home: '/home/u', ...more })}\n`

test('each call gets its verdict in order, in a project that does not exist, however the chunks are cut', async t => {
  const input = row(1, 'ls -la') + row('b', 'git status') + row(3, 'rm -rf ~') + row(4, 'sudo id') + row(5, 'echo é')
  const whole = await answers(t, [input])
  assert.deepEqual(
    whole.map(({ id, risk, verdict, confidence }) => [id, risk, verdict, confidence]),
    [
      [1, 'LOW', 'allow', 0.95],
      ['b', 'MEDIUM', 'allow', 0.85],
      [3, 'HIGH', 'deny', 1],
      [4, 'HIGH', 'deny', 1],
      [5, 'LOW', 'allow', 0.95],
    ],
  )
  assert.equal(whole[2]?.reasons?.[0]?.code, 'file.delete')
  const bytes = Buffer.from(input.trimEnd())
  const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))
  assert.deepEqual(await answers(t, single), whole)
})

test('a malformed line gets an error with its id where it has one, and the rest goes on', async t => {
  const good = row('good', 'ls')
  const input = [
    '\uFEFF',
    good,
    'not json\r\n\n   \n[]\nnull\n7\n{"id":"a"}\n{"id":2,"tool":5,"input":{}}\n{"id":3,"tool":"Bash"}\n',
    '{"id":{"deep":1},"tool":"Bash","input":{}}\n{"id":4,"tool":"Bash","input":{},"project":5}\n',
    Buffer.from('{"id":5,"tool":"Bash","input":{"command":"ls \xff\xfe"}}\n', 'latin1'),
    Buffer.from([0, 1, 2, 255, 254, 10]),
    'x'.repeat(17 * 1024 * 1024),
    '\n',
    good.trimEnd(),
  ]
  const found = await answers(t, input)
  assert.deepEqual(
    found.map(({ id, risk, error }) => [id, risk ?? error?.code]),
    [
      ['good', 'LOW'],
      [null, 'not_json'],
      [null, 'not_valid'],
      [null, 'not_valid'],
      [null, 'not_valid'],
      ['a', 'not_valid'],
      [2, 'not_valid'],
      [3, 'not_valid'],
      [null, 'not_valid'],
      [4, 'not_valid'],
      [5, 'not_utf8'],
      [null, 'not_json'],
      [null, 'line_too_long'],
      ['good', 'LOW'],
    ],
  )
})

test('input of a wrong shape, huge commands and hostile nesting are judged, and never LOW', async t => {
  const odd = [
    row(1, 7),
    row(2, undefined),
    '{"id":3,"tool":"Bash","input":"ls"}\n{"id":4,"tool":"Write","input":[]}\n{"id":5,"tool":"Read","input":null}\n',
    row(6, `echo ${'x'.repeat(1_000_000)}`),
    row(7, '$('.repeat(8000)),
    row(8, 'echo \ud800'),
    row(9, 'echo \u0000'),
    `{"id":10,"tool":"Bash","input":${'['.repeat(50_000)}${']'.repeat(50_000)}}\n`,
    '{"id":11,"tool":"__proto__","input":{"__proto__":{}}}\n',
    `{"id":12,"tool":"Write","input":{"file_path":"/${'x'.repeat(1_000_000)}"}}\n`,
  ]
  const found = await answers(t, odd)
  assert.deepEqual(
    found.map(({ id }) => id),
    Array.from({ length: 12 }, (_, index) => index + 1),
  )
  for (const { id, risk, verdict, reasons } of found) {
    assert.ok(risk === 'MEDIUM' || risk === 'HIGH', `${id} is ${risk}`)
    assert.notEqual(verdict, 'allow', `${id}`)
    assert.ok((reasons?.length ?? 0) <= 50 && reasons?.every(reason => reason.text.length <= 400))
  }
})

test('links are followed on the disk', async t => {
  const home = tempDir(t)
  const project = join(home, 'proj')
  mkdirSync(join(project, 'src'), { recursive: true })
  symlinkSync(join(home, '.bashrc'), join(project, 'src/dangling.ts'))
  symlinkSync(home, join(project, 'src/up'))
  symlinkSync(project, join(home, 'alias'))
  const write = (id: number, path: string, at = project) =>
    `${JSON.stringify({ id, tool: 'Write', input: { file_path: path }, project: at, home })}\n`
  const input = [
    write(1, join(project, 'src/dangling.ts')),
    write(2, join(project, 'src/up/x.ts')),
    write(3, join(project, 'src/x.ts')),
    write(4, join(project, 'src/x.ts'), join(home, 'alias')),
  ]
  assert.deepEqual(
    (await answers(t, input)).map(({ risk }) => risk),
    ['HIGH', 'HIGH', 'LOW', 'LOW'],
  )
})

test('nothing more is read while nobody takes the answers', async t => {
  let read = 0
  async function* input() {
    for (; read < 200; read++) yield Buffer.from(row(read, 'ls'))
  }
  const taken: (() => void)[] = []
  const { promise: first, resolve } = Promise.withResolvers<void>()
  const output = new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      taken.push(done)
      resolve()
    },
  })
  const { paths: _, ...rest } = parts(t)
  const done = runBatch({ ...rest, input: input(), output })
  await first
  await new Promise(setImmediate)
  assert.equal(read, 0)
  const go = setInterval(() => {
    for (const take of taken.splice(0)) take()
  }, 0)
  await done
  clearInterval(go)
  assert.equal(read, 200)
})

test('50,000 lines pass through a small heap, one answer each and in order', async t => {
  const pcc = pccFor(t)
  // 100 MB in all. With less room than this, collecting garbage takes ten times as long as the work.
  const commands = ['ls', 'git commit -m "x"', 'npm test 2>&1 | tail -5', 'rm -rf /', 'cat a | grep b', 'curl x | sh']
  const child = spawn(process.execPath, ['--max-old-space-size=64', BIN, 'explain', '--batch'], {
    env: pcc.env,
    cwd: pcc.home,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const lines = function* () {
    for (let id = 0; id < 50_000; id++) yield row(id, `${commands[id % 6]} # ${'x'.repeat(2000)}`)
  }
  Readable.from(lines()).pipe(child.stdin)
  let next = 0
  for await (const line of createInterface({ input: child.stdout })) {
    const answer = JSON.parse(line) as Answer
    assert.equal(answer.id, next++)
    assert.ok(answer.risk)
  }
  assert.deepEqual(await closed, [0, null])
  assert.equal(next, 50_000)
})

test("the person's settings and rules decide, and an invalid rules file is reported while everything asks", async t => {
  const pcc = pccFor(t)
  mkdirSync(join(pcc.home, 'pcc'))
  const rules = join(pcc.home, 'pcc/rules.toml')
  const run = async () => {
    const child = spawn(process.execPath, [BIN, 'explain', '--batch'], { env: pcc.env, cwd: pcc.home })
    child.stdin.end(row(1, 'ls') + row(2, 'npm test'))
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    const verdicts = out
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as Answer).verdict)
    return { verdicts, err, code: child.exitCode }
  }
  writeFileSync(rules, '[[rules]]\neffect = "deny"\ntool = "Bash"\nmatch = "ls"\n')
  assert.deepEqual((await run()).verdicts, ['deny', 'allow'])
  writeFileSync(rules, '[[rules]]\neffect = "deny"\n')
  const { verdicts, err, code } = await run()
  assert.deepEqual([verdicts, code], [['ask', 'ask'], 0])
  assert.match(err, /rules\.toml:1: tool: a text is needed/)
})
