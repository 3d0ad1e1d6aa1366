import assert from 'node:assert/strict'
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { changeLines } from '../../../src/cli/commands/accept.ts'
import { terminalOf } from '../../../src/cli/render/text.ts'
import { onTerminal } from '../../e2e/pty.ts'
import { pccFor } from '../pcc.ts'

const ALLOW = '[[rules]]\neffect = "allow"\ntool = "Bash"\nmatch = "rm -rf build"\n'

async function setUp(t: TestContext) {
  const pcc = pccFor(t)
  mkdirSync(join(pcc.home, 'pcc'))
  writeFileSync(join(pcc.home, 'pcc/config.toml'), '[logs]\nkeep = 3\n')
  assert.equal((await pcc.run(['daemon', 'start'])).code, 0)
  const rules = join(pcc.home, 'pcc/rules.toml')
  return { ...pcc, rules, config: join(pcc.home, 'pcc/config.toml') }
}

test('what pcc itself writes counts at once, with and without a daemon', async t => {
  const { run, config } = await setUp(t)
  const value = async () => (await run(['config', 'get', 'logs.keep'])).stdout
  assert.equal((await run(['config', 'set', 'logs.keep', '4'])).code, 0)
  assert.equal(await value(), '4\n')
  assert.equal((await run(['rules', 'add', 'deny', 'WebFetch'])).code, 0)
  await run(['daemon', 'stop'])
  assert.equal((await run(['config', 'set', 'logs.keep', '6'])).code, 0)
  assert.equal((await run(['rules', 'remove', '1'])).code, 0)
  const { stdout } = await run(['accept', '--json'])
  assert.deepEqual(JSON.parse(stdout), { files: [], restored: false })
  assert.equal(await value(), '6\n')
  assert.match(readFileSync(config, 'utf8'), /keep = 6/)
})

test('a change from outside is shown by every command, keeps pcc from writing, and is put back or accepted', async t => {
  const { run, rules } = await setUp(t)
  appendFileSync(rules, ALLOW)
  assert.match((await run(['rules', 'list'])).stdout, /^No rules/)
  assert.match((await run(['doctor', '--json'])).stdout, /rules\.toml was changed outside pcc/)
  const added = await run(['rules', 'add', 'deny', 'WebFetch'])
  assert.equal(added.code, 3)
  assert.match(added.stderr, /changed outside pcc since you last accepted it.*\n.*pcc accept/)
  assert.equal(readFileSync(rules, 'utf8'), ALLOW)
  assert.equal((await run(['accept'])).code, 3, 'nobody is there to agree')
  assert.equal((await run(['accept', '--yes'], { env: { PCC_SESSION_MARK: 'x' } })).code, 3, 'agents do not accept')

  assert.equal((await run(['accept', '--restore', '--yes'])).code, 0)
  assert.equal(existsSync(rules), false)
  assert.equal((await run(['rules', 'list'])).stderr, '')
  writeFileSync(rules, ALLOW)
  assert.match((await run(['accept', '--yes'])).stdout, /\+ match = "rm -rf build"\n.*count from now on/s)
  assert.match((await run(['rules', 'list'])).stdout, /1 {2}allow Bash rm -rf build/)
})

test('at a terminal the next command shows the difference and asks, and Enter accepts it', async t => {
  const pcc = await setUp(t)
  writeFileSync(pcc.config, '[logs]\nkeep = 8\n')
  const first = onTerminal(t, pcc, ['config', 'show'])
  await first.see(/config\.toml was changed outside pcc, from line 2:\s+\[logs\]\s+- keep = 3\s+\+ keep = 8/)
  await first.see(/Let these changes count\? \[Y\/n\]/)
  first.type('n\r')
  await first.see(/stays in force/)
  assert.equal(await first.exit, 0)
  assert.equal((await pcc.run(['config', 'get', 'logs.keep'])).stdout, '3\n')
  const second = onTerminal(t, pcc, ['config', 'show'])
  await second.see(/\[Y\/n\]/)
  second.type('\r')
  assert.equal(await second.exit, 0)
  assert.equal((await pcc.run(['config', 'get', 'logs.keep'])).stdout, '8\n')
})

test('the difference shows every changed line, and what a terminal would hide', () => {
  const terminal = terminalOf({ isTTY: false, columns: 80 } as never, { NO_COLOR: '1' })
  const change = { path: '/h/rules.toml', accepted: 'a\nb\nc\nd\ne\nf', found: 'a\nb\nc\nX\u001b[2K\ne\nf' }
  assert.deepEqual(changeLines(change, terminal), [
    '/h/rules.toml was changed outside pcc, from line 4:',
    '  b',
    '  c',
    '- d',
    '+ X␛[2K',
    '  e',
    '  f',
    '',
  ])
})
