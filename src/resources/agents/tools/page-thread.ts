/** The worker thread that turns pages into text. */
import { parentPort } from 'node:worker_threads'
import { textOfHtml } from './page-text.ts'

parentPort?.on('message', (html: string) => parentPort?.postMessage(textOfHtml(html)))
