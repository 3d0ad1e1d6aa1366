import { copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { type AppPaths, appPathsFor } from '../../../base/app-paths.ts'
import { AppError } from '../../../base/errors.ts'
import { replaceFile } from '../../../base/files.ts'
import { findProgram } from '../../../base/process/find-program.ts'
import { packagePath, programVersion } from '../../../base/program.ts'
import { pathOutsideProjects, withWholePath } from '../../../base/search-path.ts'
import { findClient } from '../../connection/client.ts'
import type { CommandContext } from '../../context.ts'
import { confirm } from '../../input.ts'
import { refuseInSession } from '../../options.ts'
import { counted } from '../../render/format.ts'
import { endDaemon } from '../daemon.ts'
import { findService, locateUnit, type ServiceScope, type ServiceUnit } from './service-unit.ts'
import { readLinger, readUnitState, requireManager, runTool, systemctl, systemdVersion } from './systemctl.ts'
import { alertUnit, daemonUnit, launchdPlist, type UnitOptions, whoseUnit } from './unit-text.ts'

export interface InstallOptions {
  scope: ServiceScope
  /** Restart a daemon with sessions at work, too; they go on after it. */
  now: boolean
  yes: boolean
}

type Env = CommandContext['env']

/** Writes the unit, and lets the service manager start the daemon now and with the machine. A second call brings it up to date. */
export async function installService(options: InstallOptions, context: CommandContext): Promise<void> {
  refuseInSession(context.env, 'service install')
  const owner = await findOwner(options.scope, context)
  const place = locateUnit(owner.paths, { env: owner.env, scope: options.scope })
  await requireManager(place, context.env)
  const wanted = await unitFiles(place, { owner, context })
  const isChanged = await writeUnits(wanted, { yes: options.yes, note: context.note })
  if (place.manager === 'launchd') return installAgent(place, context)
  await checkUnit(place, context)
  await systemctl(place, ['daemon-reload'], context.env)
  await systemctl(place, ['enable', place.unit], context.env)
  await bringUp(place, { options, context: { ...context, paths: owner.paths }, isChanged })
  const state = await readUnitState(place, context.env)
  const linger = options.scope === 'user' ? await readLinger(userInfo().username, context.env) : undefined
  if (context.json)
    return context.out(
      JSON.stringify({ unit: place.unit, file: place.file, active: state.active, linger: linger ?? null }),
    )
  context.out(`${place.unit} is installed (${place.file}) and ${state.active}.`)
  if (linger === false) context.note(LINGER)
}

const LINGER =
  'It runs while you are logged in. To let it start with the machine and go on after you log out: loginctl enable-linger'

interface Owner {
  paths: AppPaths
  env: Env
  user: string | undefined
  flags: readonly string[]
}

/** Who the daemon will run as. A service of the system that is installed through sudo belongs to the person, not to root. */
async function findOwner(scope: ServiceScope, { paths, env, placeFlags }: CommandContext): Promise<Owner> {
  const user = env['SUDO_USER'] ?? userInfo().username
  if (scope === 'user') return { paths, env, user: undefined, flags: placeFlags }
  if (user === userInfo().username) return { paths, env, user, flags: placeFlags }
  const entry = await runTool('getent', ['passwd', user], { env })
  const home = entry.stdout.split(':')[5]
  if (!home)
    throw new AppError('service_unavailable', { problem: `the home of ${user} is not known`, way: 'Set HOME.' })
  const own = { ...env, HOME: home }
  return { paths: appPathsFor({ env: own }), env: own, user, flags: placeFlags }
}

/** The files and what they should say. */
async function unitFiles(
  place: ServiceUnit,
  { owner, context }: { owner: Owner; context: CommandContext },
): Promise<{ file: string; text: string }[]> {
  const command = [process.execPath, packagePath('bin/pcc.js'), ...owner.flags]
  const path = withWholePath({ PATH: context.env['PATH'] ?? '' }).PATH
  const env = { PATH: path, PCC_HOME: owner.paths.home, AI_MEMORY_PATH: owner.paths.memory }
  if (place.manager === 'launchd')
    return [
      {
        file: place.file,
        text: launchdPlist({ label: place.unit, command, env, output: join(owner.paths.logs, 'launchd.log') }),
      },
    ]
  const options: UnitOptions = {
    ...{ command, env, user: owner.user, alert: place.alert },
    version: await systemdVersion(context.env),
    setuidSandbox: hasSetuidSandbox(context.env),
  }
  return [
    { file: place.file, text: daemonUnit(options) },
    { file: place.alertFile, text: alertUnit(options) },
  ]
}

function hasSetuidSandbox(env: Env): boolean {
  const bubblewrap = findProgram('bwrap', { PATH: pathOutsideProjects(env['PATH']) })
  return bubblewrap !== undefined && (statSync(bubblewrap).mode & 0o4000) !== 0
}

/** Writes the files that differ. One that somebody edited, or that is not ours, is replaced only with consent, and a copy stays. */
async function writeUnits(
  files: readonly { file: string; text: string }[],
  { yes, note }: { yes: boolean; note(line: string): void },
): Promise<boolean> {
  const changed = files.filter(({ file, text }) => readUnit(file) !== text)
  const edited = changed.filter(({ file }) => existsSync(file) && whoseUnit(readUnit(file) ?? '') !== 'ours')
  for (const { file } of edited) {
    await confirm({
      action: `Replacing ${file}, which was edited by hand,`,
      question: `${file} was edited by hand. Replace it? A copy stays beside it`,
      yes,
    })
  }
  for (const { file, text } of changed) {
    mkdirSync(dirname(file), { recursive: true })
    if (edited.some(each => each.file === file)) {
      copyFileSync(file, `${file}.bak`)
      note(`What it said before is in ${file}.bak`)
    }
    replaceFile(file, text, 0o644)
  }
  return changed.length > 0
}

/** The text of a unit; undefined if there is none. `systemctl mask` makes a link to /dev/null. */
function readUnit(file: string): string | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false })
  if (!stats) return undefined
  if (stats.isSymbolicLink() || !stats.isFile())
    throw new AppError('service_unavailable', {
      problem: `${file} is a link (masked?)`,
      way: 'Remove it, or unmask it.',
    })
  return readFileSync(file, 'utf8')
}

/** Lets systemd read the unit before it is used. A remark is shown; only systemd itself decides. */
async function checkUnit({ scope, file }: ServiceUnit, { env, note }: CommandContext): Promise<void> {
  const flags = scope === 'user' ? ['--user'] : []
  const { stderr } = await runTool('systemd-analyze', [...flags, 'verify', '--man=no', file], { env })
  for (const line of stderr.split('\n').filter(each => each.includes(file))) note(`systemd remarks: ${line}`)
}

interface BringUp {
  options: InstallOptions
  context: CommandContext
  isChanged: boolean
}

/** Lets the service take over from a daemon that runs, or restarts it after an update. Sessions at work are not disturbed unasked. */
async function bringUp(place: ServiceUnit, { options, context, isChanged }: BringUp): Promise<void> {
  const { env, note, paths } = context
  const state = await readUnitState(place, env)
  // Root may be refused by the daemon of a person.
  const client = await findClient(paths).catch(() => undefined)
  const isService = client ? state.pid === client.health.pid : state.active === 'active'
  const live = client?.health.sessions.live
  const running = { isService, isChanged, isSilent: !client, version: client?.health.version, live }
  const next = nextForService(running, { own: programVersion(), now: options.now })
  if (next === 'leave') return
  if (next === 'unknown')
    return note(`The service runs and does not say whether sessions are at work; it is not touched. ${AT_WORK}`)
  if (next === 'busy')
    return note(`${counted(live ?? 0, 'session')} at work; the daemon that runs is not touched. ${AT_WORK}`)
  if (client && !isService) await endDaemon(client, context)
  await systemctl(place, ['reset-failed', place.unit], env).catch(() => undefined) // it was not failed
  await systemctl(place, [isService ? 'restart' : 'start', place.unit], env)
}

interface RunningDaemon {
  /** Whether the service runs it. */
  isService: boolean
  /** Whether the unit was changed. */
  isChanged: boolean
  /** It does not answer: it belongs to somebody else, or there is none. */
  isSilent: boolean
  version: string | undefined
  live: number | undefined
}

/** What installing does with what runs: after an update it is started anew, unless sessions are at work and nobody said `--now`. Pure. */
export function nextForService(
  { isService, isChanged, isSilent, version, live = 0 }: RunningDaemon,
  { own, now }: { own: string; now: boolean },
): 'leave' | 'unknown' | 'busy' | 'start' {
  if (isService && !isChanged && version === own) return 'leave'
  if (now) return 'start'
  if (isSilent && isService) return 'unknown'
  return live > 0 ? 'busy' : 'start'
}

const AT_WORK =
  'The service takes over with the next start of the machine, or now, and they go on: pcc service install --now'

async function installAgent(
  { unit, file, scope }: ServiceUnit,
  { env, out, note, json }: CommandContext,
): Promise<void> {
  const domain = scope === 'user' ? `gui/${process.getuid?.() ?? 0}` : 'system'
  await runTool('launchctl', ['bootout', `${domain}/${unit}`], { env })
  const { code, stderr } = await runTool('launchctl', ['bootstrap', domain, file], { env })
  if (code !== 0)
    throw new AppError('service_failed', {
      command: `launchctl bootstrap ${domain}`,
      problem: stderr.trim() || 'no reason',
    })
  out(
    json
      ? JSON.stringify({ unit, file, active: 'loaded', linger: null })
      : `${unit} is installed (${file}) and loaded.`,
  )
  note('Nobody has tried this on a Mac yet; please report what is wrong.')
}

/** Stops the service and removes its files. The next command starts the daemon as before. */
export async function uninstallService(
  { scope, yes }: Pick<InstallOptions, 'yes'> & { scope: ServiceScope | undefined },
  context: CommandContext,
): Promise<void> {
  refuseInSession(context.env, 'service uninstall')
  const { env, paths, out, json } = context
  const place = scope ? locateUnit(paths, { env, scope }) : findService(paths, { env })
  if (!place || !existsSync(place.file)) throw new AppError('service_missing', { home: paths.home })
  await requireManager(place, env)
  const files = [place.file, place.alertFile].filter(file => file !== '' && existsSync(file))
  if (files.some(file => whoseUnit(readFileSync(file, 'utf8')) !== 'ours')) {
    const question = `${place.file} was edited by hand. Remove it?`
    await confirm({ action: `Removing ${place.file}, which was edited by hand,`, question, yes })
  }
  if (place.manager === 'launchd') {
    const domain = place.scope === 'user' ? `gui/${process.getuid?.() ?? 0}` : 'system'
    await runTool('launchctl', ['bootout', `${domain}/${place.unit}`], { env })
  } else await systemctl(place, ['disable', '--now', place.unit], env)
  for (const file of files) rmSync(file)
  if (place.manager === 'systemd') await systemctl(place, ['daemon-reload'], env)
  out(json ? JSON.stringify({ unit: place.unit, removed: files }) : `${place.unit} is stopped and removed.`)
}
