import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Command } from 'commander'
import { COMMANDS } from '../../src/cli/table.ts'
import { pccFor } from './pcc.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

test('every row of the table adds the command it names, with a description', async () => {
  for (const row of COMMANDS) {
    const program = new Command('pcc')
    await row.add(program)
    assert.deepEqual(
      program.commands.map(command => command.name()),
      [row.name],
    )
    assert.ok(program.commands[0]?.description(), row.name)
  }
})

test('pcc without a command is one screen with three commands to type next, and starts no daemon', async t => {
  const pcc = pccFor(t)
  const { code, stdout } = await pcc.run([])
  assert.equal(code, 0)
  assert.match(stdout, /^No daemon is running; .*\n\nNext\n {2}pcc init .*\n {2}pcc start .*\n {2}pcc help .*\n$/)
  assert.equal((await pcc.run(['daemon', 'status'])).code, 1)
})

test('the help lists the fifteen commands of every day by group, and the nouns of all others', async t => {
  const pcc = pccFor(t)
  const { stdout } = await pcc.run(['help'])
  for (const group of ['Work:', 'Watch:', 'Decide:', 'Steer:', 'Check and try:', 'Everything else:'])
    assert.match(stdout, new RegExp(`\n${group}\n`))
  const [everyDay = '', others = ''] = stdout.split('\nEverything else:\n')
  assert.equal([...everyDay.matchAll(/^ {2}[a-z]+ .*/gm)].length, 15)
  assert.deepEqual(
    [...others.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name),
    ['session', 'rules', 'agents', 'hooks', 'index', 'memory', 'config', 'daemon', 'api', 'docs'],
  )
  for (const { name, group, noun } of COMMANDS) assert.ok(group ?? noun, `${name} is listed nowhere`)
})

test('a command is also found under its noun, by both names', async t => {
  const pcc = pccFor(t)
  const list = await pcc.run(['session', '--help'])
  for (const { name } of COMMANDS.filter(({ noun }) => noun === 'session'))
    assert.match(list.stdout, new RegExp(`\n {2}${name} +\\S`))
  for (const [there, top] of [
    [
      ['session', 'pause', '--help'],
      ['pause', '--help'],
    ],
    [
      ['run', 'list', '--help'],
      ['runs', '--help'],
    ],
    [
      ['config', 'trust', 'status', '--json'],
      ['trust', 'status', '--json'],
    ],
    [
      ['help', 'task', 'diff'],
      ['help', 'diff'],
    ],
  ])
    assert.deepEqual(await pcc.run(there ?? []), await pcc.run(top ?? []))
})

test('a page of the documentation is printed by its name, and all of them are listed', async t => {
  const pcc = pccFor(t)
  assert.match((await pcc.run(['docs'])).stdout, /^agents +\S.*\n(.*\n)*runs +\S/)
  const page = readFileSync(new URL('../../docs/runs.md', import.meta.url), 'utf8')
  assert.equal((await pcc.run(['docs', 'runs'])).stdout, page)
  assert.match((await pcc.run(['docs', 'nothing'])).stderr, /there is no page "nothing"; list the pages with: pcc docs/)
})

test('the version and the help go to stdout, also when the flag follows a command', async t => {
  const pcc = pccFor(t)
  for (const args of [['--version'], ['-V'], ['list', '--version']]) {
    assert.deepEqual(await pcc.run(args), { code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  }
  const help = await pcc.run(['start', '--help'])
  assert.equal(help.code, 0)
  for (const same of [
    ['start', '-h'],
    ['help', 'start'],
  ]) {
    assert.deepEqual(await pcc.run(same), help)
  }
  assert.deepEqual(await pcc.run(['help']), await pcc.run(['--help']))
  assert.match(help.stdout, /^Usage: pcc start \[options\] <project-path>\n/)
  for (const flag of [
    '--task',
    '--requirements',
    '--model',
    '--max-turns',
    '--allowed-tools',
    '--disallowed-tools',
    '--auto-resume',
    '--no-auto-resume',
    '--priority',
    '--detach',
    '--session-name',
    '--resume',
    '--fork',
    '--record',
    '--json',
  ]) {
    assert.match(help.stdout, new RegExp(`\n {2}${flag}\\b`))
  }
})

test('a reader that closes the pipe early is not an error', async t => {
  const pcc = pccFor(t)
  const child = pcc.spawn(['--help'])
  child.stdout?.destroy()
  const [code] = (await new Promise<[number | null]>(resolve => child.once('close', exit => resolve([exit])))) ?? []
  assert.equal(code, 0)
})
