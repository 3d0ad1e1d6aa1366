import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { type DoctorFinding, describeSandbox } from '../../../src/cli/commands/doctor-checks.ts'
import { openStore } from '../../../src/store/open.ts'
import { type Pcc, pccFor } from '../pcc.ts'

interface Report {
  ok: boolean
  findings: DoctorFinding[]
  rebuilt?: { kept: string; rows: Record<string, number> } | null
}

/** An installation whose agent is a small script that answers only the doctor's questions. */
function withAgent(t: TestContext, { loggedIn = true } = {}) {
  const pcc = pccFor(t)
  const agent = join(pcc.home, 'claude')
  const status = JSON.stringify({ loggedIn, authMethod: 'api_key' })
  writeFileSync(agent, `#!/bin/sh\ncase $1 in --version) echo '9.9 (Claude Code)' ;; *) echo '${status}' ;; esac\n`)
  chmodSync(agent, 0o755)
  pcc.env['PCC_AGENTS_PATH'] = agent
  if (loggedIn) pcc.env['ANTHROPIC_API_KEY'] = 'k'
  return { pcc, paths: appPathsFor({ env: pcc.env }) }
}

async function doctor(pcc: Pcc, ...flags: string[]): Promise<Report & { code: number | null }> {
  const { code, stdout, stderr } = await pcc.run(['doctor', '--json', ...flags])
  assert.equal(stderr, '')
  return { ...(JSON.parse(stdout) as Report), code }
}

function findingText(report: Report, area: string, level: DoctorFinding['level']): string {
  return report.findings
    .filter(finding => finding.area === area && finding.level === level)
    .map(({ says, mend }) => `${says} → ${mend ?? ''}`)
    .join('\n')
}

/** A store with a few events, some of its pages overwritten. */
async function damagedStore(file: string): Promise<void> {
  {
    await using store = await openStore({ file })
    const reason = 'x'.repeat(500)
    for (let n = 0; n < 60; n++)
      await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason } }])
  }
  const bytes = readFileSync(file)
  bytes.fill(0xa5, bytes.length - 3 * 4096, bytes.length - 4096)
  writeFileSync(file, bytes)
}

test('an installation in order passes, with and without a daemon, with exit code 0', async t => {
  const { pcc } = withAgent(t)
  const quick = await doctor(pcc)
  assert.deepEqual([quick.code, quick.ok], [0, true], JSON.stringify(quick.findings))
  assert.match(findingText(quick, 'agent', 'ok'), /claude is there \(not started; pcc doctor --deep starts it\)/)
  assert.match(findingText(quick, 'login', 'ok'), /ANTHROPIC_API_KEY is set \(not tried; pcc doctor --deep asks/)
  const before = await doctor(pcc, '--deep')
  assert.deepEqual([before.code, before.ok], [0, true], JSON.stringify(before.findings))
  assert.match(findingText(before, 'agent', 'ok'), /9\.9 \(Claude Code\)/)
  assert.match(findingText(before, 'login', 'ok'), /logged in \(api_key\)/)
  assert.match(findingText(before, 'isolation', 'ok'), /namespace|marker/)
  assert.match(findingText(before, 'sandbox', 'ok'), /bubblewrap|no sandbox/)
  await pcc.run(['daemon', 'start'])
  const during = await pcc.run(['doctor'])
  assert.equal(during.code, 0, during.stdout)
  assert.match(during.stdout, /✓ daemon +it runs \(pid \d+\).*kept by its parent/)
  assert.match(during.stdout, /✓ watchdog +ends a daemon that hangs for 60 s/)
  assert.match(during.stdout, /✓ store +.*is sound/)
  assert.match(during.stdout, /\nAll is well\.\n$/)
  const refused = await pcc.run(['doctor', '--repair'])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /already running/, 'never while a daemon holds the lock')
})

test('a damaged store is refused, copied aside and rebuilt; a second repair finds nothing to do', async t => {
  const { pcc, paths } = withAgent(t)
  mkdirSync(paths.data, { recursive: true })
  await damagedStore(paths.database)
  const start = await pcc.run(['list'])
  assert.equal(start.code, 1)
  assert.match(start.stderr, /is damaged: .*a copy is kept in .*damaged.*\n.*pcc doctor --repair/)
  assert.equal(readdirSync(join(paths.data, 'damaged')).length, 1)

  const found = await doctor(pcc)
  assert.equal(found.code, 1)
  assert.match(findingText(found, 'store', 'problem'), /is damaged.*pcc doctor --repair/)
  const repaired = await doctor(pcc, '--repair')
  assert.deepEqual([repaired.code, repaired.ok], [0, true], JSON.stringify(repaired.findings))
  assert.ok((repaired.rebuilt?.rows['events'] ?? 0) > 20)
  assert.ok(readFileSync(repaired.rebuilt?.kept ?? '').length > 0)
  assert.equal((await doctor(pcc, '--repair')).rebuilt, null)
  assert.equal(readdirSync(join(paths.data, 'damaged')).length, 1, 'the same file is copied once')
})

test('every problem is named with what to do about it, and one failure hides no other', async t => {
  const { pcc, paths } = withAgent(t, { loggedIn: false })
  for (const dir of [paths.data, paths.run, paths.logs]) mkdirSync(dir, { recursive: true, mode: 0o700 })
  writeFileSync(paths.configFile, '[sessions]\nmax_concurrent = "five"\n')
  writeFileSync(paths.tokenFile, 'x'.repeat(40), { mode: 0o644 })
  const nowS = Math.floor(Date.now() / 1000)
  writeFileSync(join(paths.run, 'gave-up.json'), `{"at":${nowS - 60},"deaths":10,"code":137,"why":"died"}\n`)
  writeFileSync(join(paths.run, 'clock-doubted'), String(Date.now()))
  const stall = { at: new Date().toISOString(), what: 'the event loop stood still', stack: ['busy file:1'] }
  writeFileSync(join(paths.logs, 'stall-1.json'), JSON.stringify(stall))
  {
    await using store = await openStore({ file: paths.database })
    await store.append([{ actor: 'daemon', subject: 'daemon', kind: 'daemon.stopped', body: { reason: '' } }])
  }
  const report = await doctor(pcc)
  assert.deepEqual([report.code, report.ok], [1, false])
  assert.match(findingText(report, 'login', 'problem'), /not logged in → .*pcc agents login/)
  assert.match(findingText(report, 'config', 'problem'), /config\.toml:2: sessions\.max_concurrent/)
  assert.match(findingText(report, 'permissions', 'warning'), /others can read .*token → .*chmod/)
  assert.match(findingText(report, 'crashes', 'problem'), /died 10 times in a row .*SIGKILL.* → .*pcc daemon logs/)
  const status = await pcc.run(['daemon', 'status'])
  assert.match(status.stdout, /died 10 times in a row and was given up .* ago\. Why: pcc doctor/)
  assert.match(findingText(report, 'watchdog', 'warning'), /stood still, in busy file:1/)
  assert.match(findingText(report, 'clock', 'warning'), /far ahead of the last thing written/)
  assert.match(findingText(report, 'store', 'ok'), /is sound/)

  // The clock is a year behind, so everything that was written is in the future.
  const db = new (await import('node:sqlite')).DatabaseSync(paths.database)
  db.exec(`insert into events (time, actor, schema_version, subject, kind, body)
    values (${Date.now() + 31_536_000_000}, 'daemon', 1, 'daemon', 'daemon.stopped', '{}')`)
  db.close()
  assert.match(findingText(await doctor(pcc), 'clock', 'problem'), /behind the newest thing .* → Set the clock/)
})

test('which network holds is said; abstract sockets that stay open on an old kernel are named with what helps, and a network by a list has none', () => {
  const program = { program: '/usr/bin/bwrap', version: '0.8.0' }
  const levels = (hosts: string[], closes: boolean) =>
    describeSandbox(program, hosts, () => closes).map(({ level }) => level)
  assert.deepEqual(levels(['*'], false), ['ok', 'warning'])
  assert.deepEqual(levels([], false), ['ok', 'warning'])
  assert.deepEqual(levels(['*'], true), ['ok'])
  assert.deepEqual(levels(['host.example'], false), ['ok'])
  const [said] = describeSandbox(program, [], () => true)
  assert.match(said?.says ?? '', /network: the machine's own \(cloud metadata addresses are refused by name\)/)
  const [listed] = describeSandbox(program, ['a.example', '[::1]:5'], () => true)
  assert.match(listed?.says ?? '', /network: none but that of the agent's vendor and of a\.example, \[::1\]:5/)
  const [, warning] = describeSandbox(program, ['*'], () => false)
  assert.match(`${warning?.says} → ${warning?.mend}`, /abstract sockets.* → Use Linux 6\.12 .*agents\.network.*xhost/)
})
