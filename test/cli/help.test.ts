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

test('pcc without a command shows the state and the help, and starts no daemon', async t => {
  const pcc = pccFor(t)
  const { code, stdout } = await pcc.run([])
  assert.equal(code, 0)
  assert.match(stdout, /^No daemon is running; /)
  for (const group of ['Work:', 'Watch:', 'Steer:', 'Set up:', 'Try:']) assert.match(stdout, new RegExp(`\n${group}\n`))
  for (const row of COMMANDS) assert.match(stdout, new RegExp(`\n {2}${row.name} +\\S`))
  assert.equal((await pcc.run(['daemon', 'status'])).code, 1)
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
