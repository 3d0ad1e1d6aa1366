import { lstatSync, mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { isInside } from '../is-inside.ts'
import { foldersBetween, type Mounts, type MovedFolder } from './bubblewrap.ts'

// The sandbox of macOS. It has been tested on no Mac yet: only the text of its profile is, and `doctor` says so.

/** What is reached of the network: all of it, or one port of a proxy on this machine, its socket, and listed ports of this machine. */
export type AllowedNetwork = 'all' | { proxyPort: number; socket: string; ports: number[] }

/** Folders for temporary files, which hold files of other programs too. */
const SHARED_TEMP = ['/private/tmp', '/private/var/tmp', '/private/var/folders']

/** Services of the system that everyday programs ask: users, name resolution, certificates, power. None of them starts a program. */
const SERVICES = [
  ...['com.apple.system.opendirectoryd.libinfo', 'com.apple.system.opendirectoryd.membership'],
  ...['com.apple.system.notification_center', 'com.apple.system.logger', 'com.apple.logd'],
  ...['com.apple.bsd.dirhelper', 'com.apple.PowerManagement.control', 'com.apple.FSEvents'],
]
const NETWORK_SERVICES = [
  ...['com.apple.dnssd.service', 'com.apple.mDNSResponder', 'com.apple.SystemConfiguration.configd'],
  ...['com.apple.trustd', 'com.apple.trustd.agent', 'com.apple.ocspd', 'com.apple.networkd'],
]

/**
 * The profile for the same mounts as those of bubblewrap. Everything is denied but what is listed; of rules that fit the last one counts, so
 * they come in the order of the mounts. A process outside of the sandbox is neither seen nor signalled, and none can be asked to start
 * something.
 */
export function seatbeltProfile(mounts: Mounts, network: AllowedNetwork): string {
  const { tmp, hidden, replaced, shown, caches, writable, kept, regained, fixed } = mounts
  const folders = [tmp, ...replaced.map(({ from }) => from), ...caches.map(({ from }) => from)]
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-exec process-fork)',
    '(allow signal process-info* (target same-sandbox))',
    '(allow sysctl-read user-preference-read system-socket ipc-posix-sem ipc-posix-shm pseudo-tty)',
    rule('allow mach-lookup', services([...SERVICES, ...(network === 'all' ? NETWORK_SERVICES : [])])),
    '(allow file-read* file-map-executable file-test-existence)',
    '(allow file-ioctl (subpath "/dev"))',
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (regex #"^/dev/(tty|fd/)"))',
    rule('deny file-read-data file-write*', subpaths([...SHARED_TEMP, ...hidden])),
    // The parts of a path to what is shown are looked up one by one.
    rule('allow file-read-metadata', subpaths(SHARED_TEMP)),
    rule('allow file-read*', subpaths(shown)),
    rule('allow file-read* file-write*', subpaths([...folders, ...writable])),
    rule('deny file-write*', subpaths(kept)),
    rule('allow file-write*', subpaths(regained)),
    rule('deny file-write-unlink', literals([...fixed, ...foldersBetween(writable, fixed)])),
    ...networkRules(network, [...folders, ...writable]),
  ]
    .filter(line => line !== undefined)
    .join('\n')
}

function networkRules(network: AllowedNetwork, own: string[]): (string | undefined)[] {
  // Sockets of the project and of its /tmp; all others belong to programs of the person.
  const sockets = rule('allow network-bind network-inbound network-outbound', subpaths(own))
  if (network === 'all') return ['(allow network* (local ip) (remote ip))', sockets]
  const { proxyPort, socket, ports } = network
  return [
    '(allow network-bind network-inbound (local ip "localhost:*"))',
    `(allow network-outbound ${[proxyPort, ...ports].map(port => `(remote ip "localhost:${port}")`).join(' ')})`,
    rule('allow network-outbound', literals([socket])),
    sockets,
  ]
}

/** A rule, unless nothing fits it: without a filter it would be one for everything. */
function rule(what: string, filters: string[]): string | undefined {
  return filters.length === 0 ? undefined : `(${what} ${filters.join(' ')})`
}

function subpaths(paths: string[]): string[] {
  return [...new Set(paths)].map(path => `(subpath ${quote(path)})`)
}

function literals(paths: string[]): string[] {
  return [...new Set(paths)].map(path => `(literal ${quote(path)})`)
}

function services(names: string[]): string[] {
  return names.map(name => `(global-name ${quote(name)})`)
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

/**
 * macOS mounts nothing over a folder, so a replaced folder is at a path of its own and holds links to what is shown of the real one, and to
 * the package caches. Returns the home directory for the environment.
 */
export function linkReplaced({ replaced, shown, writable, caches }: Mounts, home: string): string {
  const real = [...shown, ...writable].map(path => ({ from: path, to: path }))
  for (const folder of replaced) {
    const inner = replaced.filter(each => each !== folder)
    for (const link of [...inner, ...caches, ...real]) linkInto(folder, link)
  }
  return replaced.find(({ to }) => to === home)?.from ?? home
}

/** A link where something is expected in a replaced folder, unless something is there already or a folder around it is linked. */
function linkInto(folder: MovedFolder, { from, to }: MovedFolder): void {
  if (to === folder.to || !isInside(to, folder.to)) return
  const names = relative(folder.to, to).split('/')
  let at = folder.from
  for (const name of names) {
    at = join(at, name)
    const stats = lstatSync(at, { throwIfNoEntry: false })
    if (stats && !stats.isDirectory()) return
  }
  if (lstatSync(at, { throwIfNoEntry: false })) return
  mkdirSync(dirname(at), { recursive: true })
  symlinkSync(from, at)
}
