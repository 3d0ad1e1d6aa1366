import { createHash, randomUUID } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { AppError } from '../errors.ts'
import { readRegularFileNow } from '../files.ts'
import { isInside } from '../is-inside.ts'
import { runShortSync } from '../process/run-short.ts'
import { COVERED, OUTSIDE } from './bubblewrap.ts'

/** More links on one way than anybody makes; the kernel gives up after as many. */
const MOST_LINKS = 40

/**
 * Where a path leads; undefined if a link that lies in a checkout leads out of it, to something hidden. An agent can put such a link in the
 * place of any folder of its project, of `node_modules` on the PATH for instance, and a mount would show what it leads to.
 */
export function followLinks(path: string, hidden: readonly string[]): string | undefined {
  if (realpathSync.native(path) === path) return path
  let names = path.split('/').filter(Boolean)
  let at = '/'
  let links = 0
  while (names.length > 0) {
    const [name = '', ...rest] = names
    const next = join(at, name)
    names = rest
    if (!lstatSync(next, { throwIfNoEntry: false })?.isSymbolicLink()) {
      at = next
      continue
    }
    links += 1
    if (links > MOST_LINKS) return undefined
    const target = resolve(at, readlinkSync(next))
    const checkout = checkoutAround(at)
    if (checkout !== undefined && !isInside(target, checkout) && hidden.some(folder => isInside(target, folder)))
      return undefined
    names = [...target.split('/').filter(Boolean), ...rest]
    at = '/'
  }
  return at
}

/**
 * Refuses links below folders that an earlier agent could write: it may have put them there, and a mount would be made of what they lead
 * to.
 */
export function refuseLinks(paths: string[], roots: string[]): void {
  for (const path of paths) {
    const root = roots.find(each => each !== path && isInside(path, each))
    if (root === undefined) continue
    for (let at = path; at !== root && at !== dirname(at); at = dirname(at))
      if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink()) throw new AppError('sandbox_link', { path: at })
  }
}

/** Whether a link on the way lies in a checkout, where an agent can put one. */
export function passesLinkOfCheckout(path: string): boolean {
  for (let at = path; at !== dirname(at); at = dirname(at))
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() && checkoutAround(dirname(at)) !== undefined)
      return true
  return false
}

/** The nearest folder above that has a repository. */
function checkoutAround(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (lstatSync(join(at, '.git'), { throwIfNoEntry: false })) return at
    if (at === dirname(at)) return undefined
  }
}

/**
 * Ends if something of these disks is mounted that should not be there, or more often than it should. Each line of the list is what of a disk
 * is mounted, and where; the lines of the system have the same two as their fourth and fifth words. Meanwhile somebody may mount a disk, or
 * unmount one, whose number the next one gets. That is no link: what is mounted outside now is read from a descriptor that was opened there.
 * A shell would need 25 ms for what awk does in two: it reads byte by byte.
 */
const COMPARING = `PATH=/usr/bin:/bin LC_ALL=C awk '
BEGIN {
  n = split(ARGV[1], words, " ")
  for (i = 1; i <= n; i++) watched[words[i]] = 1
  n = split(ARGV[2], lines, "\\n")
  for (i = 1; i <= n; i++) if (lines[i] != "") { left[lines[i]]++; known[lines[i]] = 1 }
  ARGV[1] = ARGV[2] = ""
}
FNR == 1 { file++ }
{ place = $4 " " $5 }
file == 1 && $3 in watched && left[place]-- <= 0 { odd[++odds] = place; disk[odds] = $3; root[odds] = $4 }
file == 2 { outside[$3] = 1; mounted[$3 " " place] = 1 }
END {
  for (i = 1; i <= odds; i++) {
    if (file == 2 && !(disk[i] in outside)) continue
    if (!(odd[i] in known) && (disk[i] " " odd[i]) in mounted) continue
    print "pcc: nothing was started: while its sandbox was made, somebody put a link to " root[i] " in the place of a folder." >"/dev/stderr"
    exit 97
  }
}' "$1" "$2" /proc/self/mountinfo - <&${OUTSIDE} || exit 97
shift 2
exec "$@" ${OUTSIDE}<&-`

/**
 * A command that begins only if the sandbox around it shows what it should. Bubblewrap finds what it mounts by paths, some milliseconds after
 * we have looked at them. Another agent at work there can put a link in the place of a folder meanwhile, and home directories would be
 * mounted, writable. From within the finished sandbox nobody can change that any more, so it is looked at there.
 */
export function comparingCommand(
  mountArgs: readonly string[],
  hidden: readonly string[],
  inner: readonly string[],
): string[] {
  const mounts = readOwnMounts()
  const binds = bindsIn(mountArgs).flatMap(({ from, to }) => {
    const real = followLinks(from, hidden) ?? from
    const inside = mounts.filter(({ at }) => at !== real && isInside(at, real))
    return [
      { ...placeOf(real, mounts), at: to },
      ...inside.map(({ disk, root, at }) => ({ disk, root, at: join(to, relative(real, at)) })),
    ]
  })
  // What is hidden is on these.
  const covered = [...hidden, ...COVERED]
  const disks = new Set([
    ...covered.map(path => placeOf(path, mounts).disk),
    ...mounts.filter(({ at }) => covered.some(path => isInside(at, path))).map(({ disk }) => disk),
  ])
  const lines = binds.filter(({ disk }) => disks.has(disk)).map(({ root, at }) => `\n${encode(root)} ${encode(at)}\n`)
  return ['/bin/sh', '-c', COMPARING, 'pcc-sandbox', ` ${[...disks].join(' ')} `, lines.join(''), ...inner]
}

function bindsIn(args: readonly string[]): { from: string; to: string }[] {
  return args.flatMap((arg, at) => {
    const [from, to] = args.slice(at + 1)
    return /^--(ro-)?bind$/.test(arg) && from !== undefined && to !== undefined ? [{ from, to }] : []
  })
}

interface OwnMount {
  /** The number of the disk. */
  disk: string
  /** What of the disk is mounted. */
  root: string
  at: string
}

function readOwnMounts(): OwnMount[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap(line => {
      const [, , disk, root, at] = line.split(' ')
      return disk === undefined || root === undefined || at === undefined
        ? []
        : [{ disk, root: decode(root), at: decode(at) }]
    })
}

/** On which disk a path without links is, and where on it. Later mounts cover earlier ones. */
function placeOf(path: string, mounts: readonly OwnMount[]): { disk: string; root: string } {
  const around = mounts.filter(({ at }) => isInside(path, at))
  const nearest = around.reduce((a, b) => (b.at.length >= a.at.length ? b : a), { disk: '', root: '/', at: '/' })
  return { disk: nearest.disk, root: join(nearest.root, relative(nearest.at, path)) }
}

function encode(path: string): string {
  return path.replace(/[ \t\n\\]/g, char => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`)
}

function decode(path: string): string {
  return path.replace(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
}

/** A path that a sandbox mounts read-only in a folder that is writable in it. */
export interface KeptEntry {
  path: string
  id: string | undefined
  isFolder: boolean
  /** Of a folder of the project a digest. Undefined for one of the repository, and for a file that is too large to keep. */
  content: Buffer | undefined
  /** Where it leads, if it is a link. */
  link?: string | undefined
  mode: number | undefined
  /** It is not mounted any more. */
  isOpen: boolean
}

const SAVED = 'kept-entries.json'

export function saveEntries(folder: string, entries: readonly KeptEntry[]): void {
  const plain = entries.map(({ content, ...entry }) => ({ ...entry, content: content?.toString('base64') }))
  const file = join(folder, SAVED)
  writeFileSync(`${file}.new`, JSON.stringify(plain), { mode: 0o600 })
  renameSync(`${file}.new`, file) // a daemon that dies here leaves one that can be read
}

/** What was saved in a folder below this one. */
export function readEntries(scratch: string): KeptEntry[] {
  const folders = existsSync(scratch) ? readdirSync(scratch) : []
  const text = folders.map(name => readRegularFileNow(join(scratch, name, SAVED))?.toString()).find(Boolean)
  const plain = (text === undefined ? [] : JSON.parse(text)) as (Omit<KeptEntry, 'content'> & { content?: string })[]
  return plain.map(({ content, ...entry }) => ({
    ...entry,
    content: content === undefined ? undefined : Buffer.from(content, 'base64'),
  }))
}

/** Which file or folder is there, whatever is in it. */
export function idOf(path: string): string | undefined {
  const stats = lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return stats && `${stats.dev} ${stats.ino} ${stats.birthtimeNs}`
}

/** Puts a file or a link back as it was unless only harmless settings differ, and empties a folder of what was not there. Nothing is lost. */
export function settle(entry: KeptEntry, common: string, log: (line: string) => void): void {
  const { path, isFolder, content, link, mode = 0o644 } = entry
  if (path === join(common, 'worktrees')) {
    settleWorktrees(path, log)
    return
  }
  if (!isFolder && content === undefined && link === undefined) {
    log(`${path} was replaced while an agent could write there, and is too large to compare: look at it`)
    return
  }
  if (isAsItWas(entry)) return
  const aside = `${path}.pcc-set-aside-${randomUUID()}`
  if (isAnything(path)) {
    renameSync(path, aside)
    const now = isFolder ? 'is empty now' : 'is as it was before the agent could write there'
    log(`${path} ${now}. What it was then is in ${aside}: look at it`)
  }
  if (link !== undefined) symlinkSync(link, path)
  else if (isFolder) mkdirSync(path, { recursive: true })
  else {
    const next = `${path}.pcc-${randomUUID()}`
    writeFileSync(next, content ?? '', { flag: 'wx', mode })
    renameSync(next, path)
  }
}

function isAsItWas({ path, isFolder, content, link }: KeptEntry): boolean {
  if (link !== undefined) return isLinkTo(path, link)
  if (isFolder) return isEmptyFolder(path) || (content !== undefined && folderDigest(path)?.equals(content) === true)
  const now = readRegularFileNow(path, undefined, { follow: false })
  return content !== undefined && now !== undefined && (now.equals(content) || isHarmless(path, content))
}

function isLinkTo(path: string, target: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true && readlinkSync(path) === target
}

/** More is in no folder of hooks. */
const MOST_DIGESTED = 200

/** What is in a folder and in those in it, to compare; undefined for one with more than a few small files. */
export function folderDigest(folder: string): Buffer | undefined {
  const hash = createHash('sha256')
  const folders = ['']
  let count = 0
  for (const at of folders) {
    const entries = readdirSync(join(folder, at), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of entries) {
      const name = join(at, entry.name)
      count += 1
      if (entry.isDirectory()) folders.push(name)
      const content = entry.isDirectory() ? '/' : readRegularFileNow(join(folder, name), undefined, { follow: false })
      if (count > MOST_DIGESTED || content === undefined) return undefined
      hash.update(JSON.stringify([name, content.length])).update(content)
    }
  }
  return hash.digest()
}

function isEmptyFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true && readdirSync(path).length === 0
}

/** In the folder of a worktree this file leads to the repository, and nowhere else. */
function settleWorktrees(folder: string, log: (line: string) => void): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const file = join(folder, name, 'commondir')
    if (!isAnything(file) || readRegularFileNow(file, undefined, { follow: false })?.toString().trim() === '../..')
      continue
    rmSync(file, { recursive: true, force: true })
    writeFileSync(file, '../..\n', { flag: 'wx' })
    log(`${file} led git to another repository; it is as it was`)
  }
}

/** Whether settings differ from what they were only in what is noted about branches, none of which starts a program or names another repository. */
function isHarmless(file: string, before: Buffer): boolean {
  const listed = [listSettings(file), listSettings('-', before.toString('latin1'))]
  const [now, then] = listed
  if (!now || !then) return false
  const others = listed.map(all => all?.filter(each => !/^branch\./i.test(each)).join('\0'))
  const remotes = then.flatMap(each => /^remote\.(.+)\.[^.\n]*\n/s.exec(each)?.[1] ?? [])
  const ofBranch =
    /^branch\..*\.(?:(?:merge|description|vscode-merge-base)\n.*|rebase\n(?:true|false|merges)|(?:remote|pushremote)\n(.*))$/is
  const isKnown = (each: string) => {
    const match = ofBranch.exec(each)
    return match !== null && (match[1] === undefined || ['.', ...remotes].includes(match[1]))
  }
  return others[0] === others[1] && now.every(each => !/^branch\./i.test(each) || then.includes(each) || isKnown(each))
}

/** The settings of one file, each as its name, a line break and its value; undefined if git cannot read it. */
export function listSettings(file: string, input?: string): string[] | undefined {
  const { code, stdout } = runShortSync({
    command: 'git',
    args: ['config', '--file', file, '--no-includes', '--null', '--list'],
    ...{ cwd: '/', env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1' }, input },
    ...{ timeoutMs: 10_000, maxBytes: 8_000_000 },
  })
  return code === 0 ? stdout.split('\0') : undefined
}

function isAnything(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined
}
