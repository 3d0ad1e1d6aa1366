import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
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
import fc from 'fast-check'
import { deriveKey, makeSalt, seal, unseal } from '../../../src/base/secrets/cipher.ts'
import { problemWith } from '../../../src/base/secrets/secrets.ts'
import { COMPILED } from '../../support/world.ts'
import { SECRET_TOOL, secretsWorld } from './world.ts'

const VALUE = 'planted-value-0123456789'

test('a value comes back for its own key and purpose, and any changed bit is noticed', async () => {
  const key = await deriveKey('passphrase', 'a passphrase', makeSalt())
  const other = await deriveKey('file', 'another passphrase', makeSalt())
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(), (text, at) => {
      const sealed = seal(text, key, 'one')
      assert.equal(unseal(sealed, key, 'one'), text.toWellFormed())
      assert.equal(unseal(sealed, other, 'one'), undefined)
      assert.equal(unseal(sealed, key, 'two'), undefined)
      const bytes = Buffer.from(sealed.data, 'base64')
      const bit = at % (bytes.length * 8)
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      assert.equal(unseal({ ...sealed, data: bytes.toString('base64') }, key, 'one'), undefined)
    }),
  )
})

test('a secret in the encrypted file is read back by another process, and lies nowhere in the clear', async t => {
  const world = secretsWorld(t)
  assert.deepEqual(await world.open().set('gemini', VALUE), { in: 'file' })
  assert.deepEqual(await world.open().lookUp('gemini'), { value: VALUE, in: 'file' })
  assert.deepEqual(world.seen, [VALUE])
  const folder = join(world.home, 'secrets')
  for (const name of readdirSync(folder)) {
    assert.ok(!readFileSync(join(folder, name)).includes(VALUE), name)
    assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name)
  }
  assert.equal(statSync(folder).mode & 0o077, 0)
})

test('a new value takes effect at once in a process that has read the old one, and both stay hidden', async t => {
  const world = secretsWorld(t)
  const daemon = world.open()
  await world.open().set('gemini', VALUE)
  assert.equal(await daemon.read('gemini'), VALUE)
  await world.open().set('gemini', 'the rotated value')
  assert.equal(await daemon.read('gemini'), 'the rotated value')
  assert.deepEqual(daemon.known(), [VALUE, 'the rotated value'])
  await world.open().remove('gemini')
  assert.equal(await daemon.read('gemini'), undefined)
  assert.match(world.failed.at(-1)?.[1] ?? '', /pcc secrets set gemini/)
})

test('secrets.key: a passphrase opens the file, a wrong one changes nothing, and without one it is locked', async t => {
  const world = secretsWorld(t, { key: 'passphrase' })
  await assert.rejects(world.open().set('slack', VALUE), { code: 'secrets_locked' })
  assert.ok(!existsSync(world.vault))
  const first = world.open()
  await first.unlock('correct horse battery')
  await first.set('slack', VALUE)
  assert.ok(!existsSync(join(world.home, 'secrets', 'key')))
  const daemon = world.open()
  assert.match(JSON.stringify(await daemon.lookUp('slack')), /passphrase is not known/)
  await assert.rejects(daemon.unlock('wrong horse battery'), { code: 'secrets_wrong_key' })
  const before = readFileSync(world.vault, 'utf8')
  await assert.rejects(daemon.set('slack', 'another value'), { code: 'secrets_locked' })
  assert.equal(readFileSync(world.vault, 'utf8'), before)
  await daemon.unlock('correct horse battery')
  assert.equal(await daemon.read('slack'), VALUE)
})

test('a systemd credential stands for the passphrase', async t => {
  const world = secretsWorld(t, { key: 'passphrase' })
  world.env['CREDENTIALS_DIRECTORY'] = join(world.home, 'credentials')
  mkdirSync(world.env['CREDENTIALS_DIRECTORY'])
  writeFileSync(join(world.env['CREDENTIALS_DIRECTORY'], 'pcc-secrets'), 'correct horse battery\n')
  await world.open().set('slack', VALUE)
  assert.equal(await world.open().read('slack'), VALUE)
  delete world.env['CREDENTIALS_DIRECTORY']
  const person = world.open()
  assert.equal(await person.read('slack'), undefined)
  await person.unlock('correct horse battery')
  assert.equal(await person.read('slack'), VALUE)
})

test('a damaged, foreign, newer, open or linked file is refused and never written', async t => {
  const world = secretsWorld(t)
  await world.open().set('gemini', VALUE)
  const good = readFileSync(world.vault, 'utf8')
  const refuse = async (code: string, problem: RegExp) => {
    const content = readFileSync(world.vault, 'utf8')
    await assert.rejects(world.open().set('slack', 'another value'), { code })
    await assert.rejects(world.open().remove('gemini'), { code })
    assert.match(JSON.stringify(await world.open().lookUp('gemini')), problem)
    assert.equal(readFileSync(world.vault, 'utf8'), content)
  }
  writeFileSync(world.vault, good.slice(0, 40))
  await refuse('secrets_unreadable', /damaged/)
  writeFileSync(world.vault, good.replace('"in": "file"', '"in": "nowhere"'))
  await refuse('secrets_unreadable', /damaged/)
  writeFileSync(world.vault, good.replace('"pcc_secrets": 1', '"pcc_secrets": 2'))
  await refuse('secrets_newer', /version 2/)
  writeFileSync(world.vault, good)
  chmodSync(world.vault, 0o644)
  await refuse('secrets_unreadable', /chmod 600/)
  chmodSync(world.vault, 0o600)
  renameSync(world.vault, `${world.vault}.real`)
  symlinkSync(`${world.vault}.real`, world.vault)
  await refuse('secrets_unreadable', /link/)
})

test('an entry that was swapped or changed is damaged, and the others are still read', async t => {
  const world = secretsWorld(t)
  await world.open().set('one', VALUE)
  await world.open().set('two', 'the second value')
  const content = JSON.parse(readFileSync(world.vault, 'utf8'))
  content.entries.one = content.entries.two
  writeFileSync(world.vault, JSON.stringify(content))
  assert.deepEqual(await world.open().lookUp('one'), { problem: 'its entry is damaged; set it again' })
  assert.equal(await world.open().read('two'), 'the second value')
})

test('a key file that is gone, short, open to others or from elsewhere is named', async t => {
  const world = secretsWorld(t)
  await world.open().set('gemini', VALUE)
  const key = join(world.home, 'secrets', 'key')
  const problem = async () => JSON.stringify(await world.open().lookUp('gemini'))
  const good = readFileSync(key)
  chmodSync(key, 0o640)
  assert.match(await problem(), /others can read it/)
  chmodSync(key, 0o600)
  writeFileSync(key, 'short')
  assert.match(await problem(), /too short/)
  writeFileSync(key, 'a'.repeat(43))
  assert.match(await problem(), /from elsewhere/)
  await assert.rejects(world.open().set('slack', 'another value'), { code: 'secrets_wrong_key' })
  renameSync(key, `${key}.away`)
  assert.match(await problem(), /key file is gone/)
  writeFileSync(key, good, { mode: 0o600 })
  assert.equal(await world.open().read('gemini'), VALUE)
})

test('two writers at once lose nothing', async t => {
  const world = secretsWorld(t)
  const names = ['a1', 'b2', 'c3', 'd4']
  await Promise.all(names.map(name => world.open().set(name, `value of ${name}`)))
  const reader = world.open()
  assert.deepEqual(
    await Promise.all(names.map(name => reader.read(name))),
    names.map(name => `value of ${name}`),
  )
})

test('a writer that is killed at any moment leaves a file that can be read and written', async t => {
  const world = secretsWorld(t)
  await world.open().set('kept', VALUE)
  const script = `
    import { Secrets } from ${JSON.stringify(new URL('../../../src/base/secrets/secrets.ts', import.meta.url).href)}
    const secrets = new Secrets({ paths: { home: ${JSON.stringify(world.home)} }, env: {}, settings: async () => ({ store: 'file', key: 'file', command: [] }) })
    for (let n = 0; ; n++) { await secrets.set('written', 'value number ' + n); process.stdout.write('.') }`
  for (const writes of [1, 2, 3]) {
    const writer = spawn(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: '/usr/bin:/bin', ...COMPILED },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for (let heard = 0; heard < writes; ) heard += String((await once(writer.stdout, 'data'))[0]).length
    writer.kill('SIGKILL')
    await once(writer, 'exit')
    assert.equal(await world.open().read('kept'), VALUE)
    assert.match((await world.open().read('written')) ?? '', /^value number \d+$/)
  }
  await world.open().set('after', 'a value after all')
  assert.deepEqual(
    readdirSync(join(world.home, 'secrets')).filter(name => name.endsWith('.tmp')),
    [],
  )
})

test('secrets.store: the keyring is used where it works, and its values are in no file of ours', async t => {
  const world = secretsWorld(t, { store: 'auto' })
  world.program('secret-tool', SECRET_TOOL)
  assert.deepEqual(await world.open().set('gemini', VALUE), { in: 'keyring' })
  assert.deepEqual(await world.open().lookUp('gemini'), { value: VALUE, in: 'keyring' })
  assert.ok(!readFileSync(world.vault, 'utf8').includes('value'))
  assert.equal(readFileSync(join(world.home, 'keyring', 'gemini'), 'utf8'), VALUE)
  await world.open().remove('gemini')
  assert.ok(!existsSync(join(world.home, 'keyring', 'gemini')))
})

test('a value that was changed in the keyring itself takes effect soon, without a restart', async t => {
  const world = secretsWorld(t, { store: 'keyring' })
  world.program('secret-tool', SECRET_TOOL)
  const daemon = world.open()
  await world.open().set('gemini', VALUE)
  assert.equal(await daemon.read('gemini'), VALUE)
  writeFileSync(join(world.home, 'keyring', 'gemini'), 'changed by hand')
  world.clock.ahead += 60_000
  assert.equal(await daemon.read('gemini'), 'changed by hand')
})

test('a missing or locked keyring sends a new value into the file, or refuses where the keyring is wanted', async t => {
  const world = secretsWorld(t, { store: 'auto' })
  world.env['PATH'] = world.bin
  assert.match((await world.open().set('one', VALUE)).note ?? '', /no keyring was found/)
  world.env['PATH'] += ':/usr/bin:/bin'
  world.program('secret-tool', SECRET_TOOL)
  mkdirSync(join(world.home, 'keyring'))
  writeFileSync(join(world.home, 'keyring', 'locked'), '')
  const stored = await world.open().set('two', VALUE)
  assert.deepEqual([stored.in, /locked/.test(stored.note ?? '')], ['file', true])
  world.settings.store = 'keyring'
  await assert.rejects(world.open().set('three', VALUE), { code: 'keyring_failed' })
  assert.deepEqual(
    world
      .open()
      .list()
      .map(({ name, in: where }) => [name, where]),
    [
      ['one', 'file'],
      ['two', 'file'],
    ],
  )
})

test('secrets.command: a manager prints what is not stored here, without a shell, and what is stored here wins', async t => {
  const world = secretsWorld(t, { command: ['manager', 'read', 'vault/{name}/$(touch hacked)'] })
  world.program('manager', 'printf "%s\\n" "of the manager: $2"')
  assert.deepEqual(await world.open().lookUp('npm'), {
    value: 'of the manager: vault/npm/$(touch hacked)',
    in: 'command',
  })
  world.env['PCC_BRAIN_KEY'] = 'a key of our own'
  world.program('keyed', 'printf "the manager sees %s" "${PCC_BRAIN_KEY:-nothing of pcc}"')
  world.settings.command = ['keyed']
  assert.equal(await world.open().read('npm'), 'the manager sees nothing of pcc')
  world.settings.command = ['manager', 'read']
  assert.equal(await world.open().read('npm'), 'of the manager: npm')
  await world.open().set('npm', VALUE)
  assert.equal(await world.open().read('npm'), VALUE)
})

test('a manager that hangs, floods, fails, is missing or prints nothing costs a bounded time and is named', async t => {
  const world = secretsWorld(t, { command: ['manager'] })
  const problem = async (script: string, commandMs = 10_000) => {
    world.program('manager', script)
    return JSON.stringify(await world.open({ commandMs }).lookUp('npm'))
  }
  assert.match(await problem('sleep 600', 200), /took longer/)
  assert.match(await problem('exec yes'), /more than \d+ bytes/)
  assert.match(await problem('echo "the secret is planted-value" >&2; exit 3'), /exit code 3/)
  assert.ok(!JSON.stringify(world.failed).includes('planted-value'))
  assert.match(await problem('exit 0'), /shorter than 8/)
  world.settings.command = ['nowhere-to-be-found']
  assert.match(JSON.stringify(await world.open().lookUp('npm')), /was not found/)
})

test('one answer of a failing manager serves everybody who asks meanwhile', async t => {
  const world = secretsWorld(t, { command: ['manager'] })
  world.program('manager', 'echo x >> "$HOME/calls"; exit 1')
  const secrets = world.open()
  await Promise.all([secrets.read('npm'), secrets.read('npm'), secrets.read('npm')])
  await secrets.read('npm')
  assert.equal(readFileSync(join(world.home, 'calls'), 'utf8'), 'x\n')
  world.clock.ahead += 6_000
  await secrets.read('npm')
  assert.equal(readFileSync(join(world.home, 'calls'), 'utf8'), 'x\nx\n')
})

test('names that are options or paths, and values that cannot be hidden or would be references, are refused', async t => {
  const world = secretsWorld(t)
  for (const name of ['--help', '../key', 'a/b', 'a b', '', 'x'.repeat(65)])
    await assert.rejects(world.open().set(name, VALUE), { code: 'secret_invalid' }, name)
  for (const value of ['short', '', 'zero \0 byte', 'env:GEMINI_API_KEY', 'secret:another', 'x'.repeat(70_000)])
    await assert.rejects(world.open().set('gemini', value), { code: 'secret_invalid' })
  assert.ok(!existsSync(join(world.home, 'secrets')))
  assert.equal(problemWith('-----BEGIN KEY-----\nlines\n'), undefined)
})

test('a new value in the file takes the old one out of the keyring', async t => {
  const world = secretsWorld(t, { store: 'keyring' })
  world.program('secret-tool', SECRET_TOOL)
  await world.open().set('gemini', VALUE)
  world.settings.store = 'file'
  await world.open().set('gemini', 'a value in the file')
  assert.ok(!existsSync(join(world.home, 'keyring', 'gemini')))
  assert.equal(await world.open().read('gemini'), 'a value in the file')
})
