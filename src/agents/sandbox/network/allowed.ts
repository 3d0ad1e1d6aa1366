import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { SandboxNeeds } from '../../../domain/agents/sandbox.ts'

/** One destination: a host, in small letters, and a port. */
export interface Destination {
  host: string
  port: number
}

/** The hosts that an agent may reach: those of the settings, of its vendor, and the address that its environment names in its place. */
export function hostsFor(listed: string[], needs: SandboxNeeds, env: Record<string, string | undefined>): string[] {
  const addresses = needs.addresses.flatMap(name => {
    const value = env[name]
    return value !== undefined && URL.canParse(value) ? [destinationOf(new URL(value))] : []
  })
  return [...listed, ...needs.hosts, ...addresses.map(({ host, port }) => `${host}:${port}`)]
}

/** Where an address leads. */
export function destinationOf({ hostname, port, protocol }: URL): Destination {
  return { host: bare(hostname), port: Number(port) || (protocol === 'http:' ? 80 : 443) }
}

/**
 * Whether one of the listed hosts is this one. `*.name` is everything below a name, a star elsewhere stands for a part of a label. Without
 * a port the two of the web are meant. This machine's own addresses have to be named with their port.
 */
export function isListed({ host, port }: Destination, listed: string[]): boolean {
  return listed.some(entry => {
    const [, name = entry, given] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? []
    if (given === undefined ? isOwn(host) || (port !== 80 && port !== 443) : Number(given) !== port) return false
    const pattern = bare(name)
    if (pattern.startsWith('*.')) return host.endsWith(pattern.slice(1))
    const source = pattern.split('*').map(escaped).join('[a-z0-9-]*')
    return new RegExp(`^${source}$`).test(host)
  })
}

/** The listed destinations on this machine: they get a listener of the same port inside. */
export function ownPorts(listed: string[]): number[] {
  return [...new Set(listed.flatMap(entry => (isOwn(bare(entry.replace(/:\d+$/, ''))) ? portOf(entry) : [])))]
}

/** Whether an address, or a name for one, is this machine's own or that of a cloud's keeper of secrets. */
export function isOwn(host: string): boolean {
  if (host === 'localhost' || host.endsWith('.localhost')) return true
  const kind = isIP(host)
  return kind !== 0 && (OWN.check(host, kind === 4 ? 'ipv4' : 'ipv6') || isOfThisMachine(host))
}

const OWN = new BlockList()
OWN.addSubnet('127.0.0.0', 8)
OWN.addSubnet('169.254.0.0', 16)
OWN.addAddress('0.0.0.0')
OWN.addAddress('::', 'ipv6')
OWN.addAddress('::1', 'ipv6')
OWN.addSubnet('fe80::', 10, 'ipv6')
// Where clouds keep secrets, besides 169.254.169.254.
OWN.addAddress('100.100.100.200')
OWN.addAddress('192.0.0.192')
OWN.addAddress('fd00:ec2::254', 'ipv6')

/** Looked up each time: a container's bridge may be new. */
function isOfThisMachine(host: string): boolean {
  return Object.values(networkInterfaces()).some(list => list?.some(({ address }) => address === host))
}

function portOf(entry: string): number[] {
  const port = /:(\d+)$/.exec(entry)?.[1]
  return port === undefined ? [] : [Number(port)]
}

function bare(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
}

function escaped(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
}
