import { holdsToken } from '../../base/redact.ts'
import { type Assessment, highestRisk, type Piece, type Reason } from '../../domain/assessment.ts'
import { INFRA, ON_THIS_MACHINE, worksHere } from '../programs/cloud.ts'
import { FORGES } from '../programs/forges.ts'
import { NETWORK, SERVERS_AND_KEYS } from '../programs/network.ts'
import { decodeTwice } from './address.ts'
import type { ProgramRules } from './call.ts'
import type { ToolUse } from './tool-use.ts'

interface JudgedCall {
  input: unknown
  use: ToolUse
  /** Values that are known to be secret: keys of the session, and those in the project's `.env` files. */
  secrets: readonly string[]
  ownServers: readonly string[]
}

/**
 * Adds a reason to a call that would carry a secret away: a value that is known to us, or a token by its shape, in a call that
 * reaches another machine, a foreign server or a file outside of the project. Inside of the project a value may be written back
 * into `.env`, searched for, or given to a program.
 */
export function judgeSecrets(assessment: Assessment, call: JudgedCall): Assessment {
  if (!carriesAway(assessment, call)) return assessment
  const texts = listTexts([call.input, ...assessment.pieces.flatMap(listWords)]).flatMap(decodeTwice)
  const values = call.secrets.flatMap(readSecret).filter(isTelling).flatMap(spell)
  if (!texts.some(text => holdsToken(text) || values.some(value => text.includes(value)))) return assessment
  const reason: Reason = { code: 'secret.leaves', risk: 'HIGH', text: 'it holds a secret and would carry it away' }
  const reasons = [reason, ...assessment.reasons]
  return { ...assessment, reasons, risk: highestRisk(reasons.map(({ risk }) => risk)) }
}

/** A value, and the password of an address with a login. */
function readSecret(value: string): string[] {
  const [, password] = /^[a-z][\w+.-]*:\/\/[^/?#@\s]*?:([^/?#@\s]+)@/i.exec(value) ?? []
  return password === undefined ? [value] : [value, password]
}

/** Paths, addresses and plain words are set in many variables with telling names, and are no secrets. */
function isTelling(value: string): boolean {
  return value.length >= MIN_LENGTH && new Set(value).size >= MIN_SIGNS && !/^[/~.]|^\w+:\/\/|^[a-z]+$/i.test(value)
}

const MIN_LENGTH = 8
const MIN_SIGNS = 5

/** The value as it is, and as addresses and the usual encodings write it. */
function spell(value: string): string[] {
  const bytes = Buffer.from(value)
  // What stands before a value moves it in base64, and the signs at its ends depend on their neighbours.
  const moved = [0, 1, 2].flatMap(before => {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes])
    return (['base64', 'base64url'] as const).map(kind =>
      shifted
        .toString(kind)
        .replace(/=+$/, '')
        .slice(before === 0 ? 0 : before + 1, -1),
    )
  })
  const hex = bytes.toString('hex')
  return [value, ...moved, hex, hex.toUpperCase()]
}

/** Every text in a value, at any depth. */
function listTexts(value: unknown, depth = 0): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return []
  return Object.values(value).flatMap(one => listTexts(one, depth + 1))
}

const MAX_DEPTH = 8

/** The words that programs get, after the shell has removed quotes and filled in variables. */
function listWords({ argv, pieces }: Piece): string[] {
  return [...(argv ? [...argv, argv.join('')] : []), ...pieces.flatMap(listWords)]
}

function carriesAway({ reasons, pieces }: Assessment, { use, ownServers }: JudgedCall): boolean {
  switch (use.does) {
    case 'fetch':
    case 'look-up':
    case 'unknown':
      return true
    case 'server':
      return !ownServers.includes(use.server)
    case 'write':
      return reasons.some(({ code }) => code === 'path.outside' || code === 'write.temp')
    case 'command':
      return (
        reasons.some(({ code }) => code === 'path.outside' || code === 'net.raw' || code === 'open') ||
        pieces.some(reachesOut)
      )
    default:
      return false
  }
}

/** Programs of other tables that speak with other machines. */
const OTHERS = ['rsync', 'websocat', 'grpcurl', 'hub', 'mail', 'mailx', 'sendmail', 'mutt']
const REACHING = [INFRA, FORGES, NETWORK]
const STAYING = [ON_THIS_MACHINE, SERVERS_AND_KEYS]
const INTERPRETERS = /^(node|deno|bun|tsx|python[\d.]*|ruby|perl|php|lua|osascript|pwsh)$/

/** Whether a piece of a command is a program that reaches another machine. */
function reachesOut({ argv = [], pieces }: Piece): boolean {
  const [head = '', ...words] = argv
  const name = head.slice(head.lastIndexOf('/') + 1)
  if (isOfNetwork(name) && !staysHere(words) && !worksHere(name, words)) return true
  const named = words.filter(word => ADDRESS.test(word))
  if (name === 'git' && named.length > 0) return true
  if (INTERPRETERS.test(name) && words.some(word => SENDS.test(word)) && !staysHere(words)) return true
  return pieces.some(reachesOut)
}

function isOfNetwork(name: string): boolean {
  const isIn = (tables: readonly ProgramRules[]) => tables.some(table => Object.hasOwn(table, name))
  return OTHERS.includes(name) || (isIn(REACHING) && !isIn(STAYING))
}

const ADDRESS = /[a-z\d+.-]:\/\/|^[\w.-]+@[\w.-]+:/i
const SENDS = /\b(fetch|https?|request|requests|urlopen|urllib|socket|net|axios|Net::|LWP|curl_exec|dgram|dns)\b/
const HERE = /:\/\/([^/@\s]*@)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|[\w-]+\.localhost)(?=[:/?#"'\s)]|$)/i
/** Flags that lead an address of this machine to another one. */
const REDIRECTS = /^(-x|--(resolve|connect-to|proxy|preproxy|socks\w*|unix-socket|dns-\w+))/

/** Whether all addresses among the words are of this machine, and there is one. */
function staysHere(words: readonly string[]): boolean {
  if (words.some(word => REDIRECTS.test(word))) return false
  const spelled = words.map(word =>
    /^(localhost|127\.\d+\.\d+\.\d+)(:\d+)?(\/|$)/.test(word) ? `http://${word}` : word,
  )
  const named = spelled.flatMap(word => word.match(/[a-z][a-z\d+.-]{0,20}:\/\/[^\s"')]*/gi) ?? [])
  return named.length > 0 && named.every(address => HERE.test(address))
}
