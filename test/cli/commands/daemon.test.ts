import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { startTimeOf } from '../../../src/base/process/process-table.ts'
import type { Health } from '../../../src/domain/api.ts'
import { type Pcc, pccFor } from '../pcc.ts'
import { storedEvents } from '../seeded.ts'

async function health(pcc: Pcc, args: string[] = []): Promise<Health> {
  return JSON.parse((await pcc.run([...args, 'daemon', 'status', '--json'])).stdout) as Health
}

test('twenty commands at once start exactly one daemon', async t => {
  const pcc = pccFor(t)
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => pcc.run(['list'])))
  for (const { code, stdout, stderr } of outcomes) assert.equal(code, 0, stdout + stderr)
  const started = (await storedEvents(pcc, 'daemon')).filter(({ kind }) => kind === 'daemon.started')
  assert.equal(started.length, 1)
})

test('the daemon does not inherit folders of the PATH that are not whole paths', async t => {
  const pcc = pccFor(t)
  const path = `./node_modules/.bin::${pcc.env['PATH']}:.`
  assert.equal((await pcc.run(['daemon', 'start'], { env: { PATH: path } })).code, 0)
  const { pid } = await health(pcc)
  const inherited = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0')
  assert.ok(
    inherited.includes(`PATH=${pcc.env['PATH']}`),
    inherited.find(entry => entry.startsWith('PATH=')),
  )
})

test('the daemon is started, shown, restarted and stopped', async t => {
  const pcc = pccFor(t)
  const before = await pcc.run(['daemon', 'status'])
  assert.equal(before.code, 1)
  assert.match(before.stdout, /not running/)
  assert.match((await pcc.run(['daemon', 'start'])).stdout, /^The daemon is running \(pid \d+\)\.\n$/)
  assert.match((await pcc.run(['daemon', 'start'])).stdout, /^The daemon already runs/)
  const first = await health(pcc)
  assert.equal(first.status, 'ok')
  assert.equal((await pcc.run(['daemon', 'restart'])).code, 0)
  const second = await health(pcc)
  assert.notEqual(second.pid, first.pid)
  assert.match((await pcc.run(['daemon', 'logs', '--tail', '5'])).stdout, /"msg":"daemon started"/)
  assert.match((await pcc.run(['daemon', 'stop'])).stdout, /The daemon is stopped\./)
  assert.equal(await startTimeOf(second.pid), undefined, 'the process is gone when stop returns')
  const again = await pcc.run(['daemon', 'stop', '--json'])
  assert.deepEqual([again.code, JSON.parse(again.stdout)], [0, { status: 'stopped' }])
})

test('another data directory is another daemon, by flag or by the config file', async t => {
  const pcc = pccFor(t)
  const other = join(pcc.home, 'elsewhere')
  await pcc.run(['daemon', 'start'])
  await pcc.run(['list', '--data-dir', other])
  await using _stopped = {
    [Symbol.asyncDispose]: () => pcc.run(['--data-dir', other, 'daemon', 'stop']).then(() => {}),
  }
  const [standard, moved] = [await health(pcc), await health(pcc, ['--data-dir', other])]
  assert.notEqual(standard.pid, moved.pid)
  assert.equal(moved.data, other)
  const config = join(pcc.home, 'other.toml')
  writeFileSync(config, `[data]\ndirectory = "${other}"\n`)
  assert.equal((await health(pcc, ['--config', config])).pid, moved.pid)
  const listed = await pcc.run(['--config', config, 'list', '--json'])
  assert.deepEqual(
    [listed.code, JSON.parse(listed.stdout)],
    [0, { sessions: [], total: 0, observed: [] }],
    listed.stderr,
  )
})

test('nothing of the environment that belongs to agents reaches the daemon', async t => {
  const pcc = pccFor(t, { ANTHROPIC_API_KEY: 'sk-ant-fake', SECRET_THING: 'x', NODE_OPTIONS: '--no-warnings' })
  await pcc.run(['daemon', 'start'])
  const { pid } = await health(pcc)
  const names = readFileSync(`/proc/${pid}/environ`, 'utf8')
    .split('\0')
    .map(entry => entry.split('=')[0])
  assert.ok(names.includes('PCC_HOME') && names.includes('HOME') && names.includes('PATH'))
  for (const name of ['ANTHROPIC_API_KEY', 'SECRET_THING', 'NODE_OPTIONS']) assert.ok(!names.includes(name), name)
})

test('a daemon of another version is used, with a warning that says what to do', async t => {
  const pcc = pccFor(t)
  const { socket, tokenFile } = appPathsFor({ env: pcc.env })
  mkdirSync(dirname(socket), { recursive: true })
  writeFileSync(tokenFile, 'token')
  const server = createServer((request, response) => {
    response.setHeader('x-pcc-version', '0.0.1')
    response.setHeader('content-type', 'application/json')
    const old: Partial<Health> = {
      status: 'ok',
      version: '0.0.1',
      pid: 1,
      started_at: 0,
      home: '',
      data: '',
      schema: 1,
    }
    response.end(JSON.stringify(request.url === '/health' ? old : { sessions: [] }))
  })
  await new Promise<void>(resolve => server.listen(socket, resolve))
  t.after(() => server.close())
  for (const args of [['list'], ['--verbose', '--', 'list'], ['daemon', 'start']]) {
    const { code, stderr } = await pcc.run(args)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /the running daemon is version 0\.0\.1, this is pcc \d.*\n {2}next: pcc daemon restart/)
  }
  assert.equal((await pcc.run(['list', '--quiet'])).stderr, '')
})
