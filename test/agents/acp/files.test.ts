import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { AcpFiles } from '../../../src/agents/acp/files.ts'
import type { AcpNamedCall } from '../../../src/agents/acp/tool-names.ts'
import { tempDir } from '../../support/world.ts'
import { asking, DENY, until } from '../conformance/world.ts'
import { stage } from './stage.ts'

const SIGNAL = new AbortController().signal

function project(t: Parameters<typeof tempDir>[0]) {
  const [root, outside] = [tempDir(t, 'pcc-project-'), tempDir(t, 'pcc-outside-')]
  const asked: AcpNamedCall[] = []
  const files = new AcpFiles(root, { approve: async call => void asked.push(call) })
  return { root, outside, files, asked, path: (name: string) => join(root, name) }
}

test('a file inside the project is read after it was asked, whole or some lines of it', async t => {
  const { files, asked, path } = project(t)
  writeFileSync(path('a.txt'), 'one\ntwo\nthree\n')
  assert.deepEqual(await files.read({ path: path('a.txt') }, SIGNAL), { content: 'one\ntwo\nthree\n' })
  assert.deepEqual(await files.read({ path: path('a.txt'), line: 2, limit: 1 }, SIGNAL), { content: 'two' })
  assert.deepEqual(asked[0], { tool: 'Read', input: { file_path: path('a.txt') } })
  await assert.rejects(files.read({ path: path('none.txt') }, SIGNAL), { code: -32002 })
})

test('a file is written whole, with its folders, and keeps its mode', async t => {
  const { root, files, asked, path } = project(t)
  await files.write({ path: path('deep/er/b.txt'), content: 'hello' }, SIGNAL)
  assert.equal(readFileSync(path('deep/er/b.txt'), 'utf8'), 'hello')
  assert.deepEqual(asked[0], { tool: 'Write', input: { file_path: path('deep/er/b.txt'), content: 'hello' } })
  writeFileSync(path('run.sh'), 'old')
  chmodSync(path('run.sh'), 0o755)
  await files.write({ path: path('run.sh'), content: 'new' }, SIGNAL)
  assert.equal(statSync(path('run.sh')).mode & 0o777, 0o755)
  assert.deepEqual(
    readdirSync(root).filter(name => name.includes('.tmp')),
    [],
  )
})

test('what is outside of the project is refused without a question, however it is written', async t => {
  const { root, outside, files, asked, path } = project(t)
  writeFileSync(join(outside, 'secret.txt'), 'secret')
  symlinkSync(join(outside, 'secret.txt'), path('link.txt'))
  symlinkSync(outside, path('folder'))
  symlinkSync(join(outside, 'not-yet.txt'), path('dangling.txt'))
  symlinkSync(path('loop-b'), path('loop-a'))
  symlinkSync(path('loop-a'), path('loop-b'))
  mkdirSync(path('sub'))
  const ways = [
    join(outside, 'secret.txt'),
    path('link.txt'),
    path('folder/secret.txt'),
    path('folder/new.txt'),
    path('sub/../../escape.txt'),
    path('dangling.txt'),
    path('loop-a'),
    'relative.txt',
    `${root}-other/x.txt`,
    `${path('a')}\0.txt`,
  ]
  for (const way of ways) {
    await assert.rejects(files.read({ path: way }, SIGNAL), { code: -32001 }, way)
    await assert.rejects(files.write({ path: way, content: 'x' }, SIGNAL), { code: -32001 }, way)
  }
  assert.deepEqual(asked, [])
  assert.deepEqual(readdirSync(outside), ['secret.txt'])
  assert.equal(readFileSync(join(outside, 'secret.txt'), 'utf8'), 'secret')
})

test('a link inside the project is followed to where it leads', async t => {
  const { files, asked, path } = project(t)
  writeFileSync(path('real.txt'), 'real')
  symlinkSync(path('real.txt'), path('link.txt'))
  await files.write({ path: path('link.txt'), content: 'new' }, SIGNAL)
  assert.equal(readFileSync(path('real.txt'), 'utf8'), 'new')
  assert.equal(asked[0]?.input['file_path'], path('real.txt'), 'what is judged is what is written')
})

test('a link that is put into the way while a write is decided is not followed', async t => {
  const { root, outside, path } = project(t)
  mkdirSync(path('sub'))
  const files = new AcpFiles(root, {
    approve: async () => {
      readdirSync(path('sub'))
      // The folder is replaced by a link that leads outside.
      renameSync(path('sub'), path('was-sub'))
      symlinkSync(outside, path('sub'))
    },
  })
  await assert.rejects(files.write({ path: path('sub/x.txt'), content: 'x' }, SIGNAL), { code: -32001 })
  assert.deepEqual(readdirSync(outside), [])
})

test('a folder that was swapped for a link while it was decided is not read through', async t => {
  const { root, path, outside } = project(t)
  mkdirSync(path('sub'))
  writeFileSync(path('sub/x.txt'), 'mine')
  writeFileSync(join(outside, 'x.txt'), 'secret')
  const files = new AcpFiles(root, {
    approve: async () => {
      renameSync(path('sub'), path('was-sub'))
      symlinkSync(outside, path('sub'))
    },
  })
  await assert.rejects(files.read({ path: path('sub/x.txt') }, SIGNAL), { code: -32001 })
})

test('files that are too large, and what is no file, are refused', async t => {
  const { files, path } = project(t)
  writeFileSync(path('large.bin'), Buffer.alloc(10_000_001))
  await assert.rejects(files.read({ path: path('large.bin') }, SIGNAL), { code: -32001, message: /10000001 bytes/ })
  await assert.rejects(files.write({ path: path('b'), content: 'x'.repeat(10_000_001) }, SIGNAL), { code: -32001 })
  mkdirSync(path('folder'))
  await assert.rejects(files.read({ path: path('folder') }, SIGNAL), { code: -32001, message: /not a file/ })
  await assert.rejects(files.read({ path: 7 }, SIGNAL), { code: -32602 })
})

test('an agent that asks for a file is judged like one that reads it, and learns why not', async t => {
  const asks = asking(({ tool }) => (tool === 'Read' ? DENY : { ...DENY, verdict: 'allow' }))
  const { talk, replies, cwd } = await stage(
    t,
    {
      prompt: [
        { ask: 'fs/read_text_file', params: { path: '/etc/hostname' } },
        { ask: 'fs/read_text_file', params: { path: '{cwd}/a.txt' } },
        { answer: { stopReason: 'end_turn' } },
      ],
    },
    { open: { asks } },
  )
  assert.equal((await talk.turn()).outcome, 'completed')
  assert.match(replies()[0]?.error?.message ?? '', /outside of the project/)
  assert.match(replies()[1]?.error?.message ?? '', /not an absolute path/)
  assert.deepEqual(asks.requests, [])
  assert.ok(existsSync(cwd))
})

test('a write is whole or not there when the agent dies in the middle of it', async t => {
  const content = 'x'.repeat(100_000)
  const dir = tempDir(t)
  const { talk } = await stage(
    t,
    {
      prompt: [
        { ask: 'fs/write_text_file', params: { path: join(dir, 'big.txt'), content }, background: true },
        { exit: 9 },
      ],
    },
    { open: { cwd: dir } },
  )
  assert.equal((await talk.turn()).failure?.kind, 'agent_crashed')
  await talk.close()
  await until(() => readdirSync(dir).every(name => name === 'big.txt'))
  if (existsSync(join(dir, 'big.txt'))) assert.equal(statSync(join(dir, 'big.txt')).size, content.length)
})
