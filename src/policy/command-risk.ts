import type { Risk } from '../domain/session.ts'

/**
 * Words that make a person look twice. This only colours the question: no command is allowed by it, each one is asked about
 * until commands are really parsed.
 */
const ALARMING: RegExp[] = [
  /\b(sudo|doas|su)\b/,
  /\brm\b.*\s-\w*[rf]/,
  /\b(mkfs|dd|shred|fdisk|wipefs|shutdown|reboot|crontab)\b/,
  /\bgit\s+(push|reset\s+--hard|clean|filter-branch|checkout\s+--)/,
  /\b(chmod|chown)\b.*\s(-R|777)/,
  /\|\s*(sudo\s+)?(ba|z|da|k)?sh\b/,
  /\b(curl|wget|nc|ssh|scp|rsync)\b/,
  /\b(npm|yarn|pnpm|cargo|gem|twine)\s+publish\b/,
  /\b(docker|podman|kubectl|terraform|aws|gcloud|az)\b/,
  /\b(eval|base64\s+-d)\b/,
  />\s*\/(?!dev\/null)/,
]

/** How loudly to ask about a command. */
export function commandRisk(command: string): Risk {
  return ALARMING.some(shape => shape.test(command)) ? 'HIGH' : 'MEDIUM'
}
