import { createHash } from 'node:crypto'

/** A short stand-in for a normalised request, whatever its length: two requests are the same when it is. */
export function fingerprintOf(tool: string, normalised: string): string {
  return createHash('sha256').update(`${tool}\0${normalised}`).digest('hex')
}

/** Whether the spelling tells nothing but the tool: what is said to one such call must not count for all of them. */
export function isBare(tool: string, normalised: string): boolean {
  return normalised === tool
}

/** Commands may be a megabyte; what a person reads later need not be. */
const KEPT = 16_384

/** A normalised request as it is stored. */
export function keptNormalised(normalised: string): string {
  return normalised.length > KEPT ? `${normalised.slice(0, KEPT).toWellFormed()}…` : normalised
}
